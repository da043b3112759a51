"""How long the elimination table takes: ten engines x five versions, offline.

    python bench/gate.py [--quick]

Prints one JSON line: seconds of the whole (facts loaded, model read, 50 candidates judged), best
of the repetitions, and the target of one second.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from seatrial import facts, gate, hardware
from seatrial.workload.spec import CandidateSpec, Workload

TARGET_S = 1.0
CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 4096,
    "num_hidden_layers": 94,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 12288,
    "moe_intermediate_size": 1536,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}
_FALLBACK = {
    "tensorrt-llm": ["0.18.0", "1.0.0", "1.1.0", "1.2.1", "1.3.0rc29"],
    "tgi": ["3.0.0", "3.1.0", "3.2.0", "3.3.5", "3.3.7"],
    "llama.cpp": ["b4747", "b6500", "b8000", "b10488", "b11549"],
    "ollama": ["0.6.5", "0.11.0", "0.24.0", "0.30.0", "0.33.0"],
    "mlc-llm": ["0.17.0", "0.18.0", "0.19.0", "0.20.0", "0.20.1"],
    "transformers": ["4.57.1", "5.0.0", "5.10.0", "5.19.0", "5.24.0"],
    "sglang": ["0.4.9", "0.5.1", "0.5.9", "0.5.15", "0.5.23"],
}


def candidates(store: facts.FactStore) -> list[CandidateSpec]:
    """Ten engines (LMDeploy's two count apart) at five versions each."""
    found = []
    for engine in facts.ENGINES:
        versions = (store.versions(engine)[-5:] + _FALLBACK.get(engine, []))[:5]
        backends = ["turbomind", "pytorch"] if engine == "lmdeploy" else [None]
        found += [
            CandidateSpec(engine=engine, version=v, backend=b)  # type: ignore[arg-type]
            for b in backends
            for v in versions
        ]
    return found


def once(folder: Path) -> tuple[float, float, int]:
    """Seconds and CPU seconds of one cold table, and its rows."""
    begun, worked = time.perf_counter(), time.process_time()
    store = facts.load(user=folder / "none")
    spec = msgspec.convert(
        {
            "schema": "seatrial/workload/1",
            "name": "bench",
            "model": {"path": str(folder)},
            "hardware": {"gpu": "h100-80gb", "count": 8},
            "requires": {
                "context_tokens": 32768,
                "structured_output": "json_schema",
                "prefix_cache": True,
                "streaming_cancel": True,
            },
        },
        Workload,
    )
    spec = msgspec.structs.replace(spec, candidates=candidates(store))
    table = gate.run(
        spec,
        base_dir=folder,
        fingerprint=None,
        facts=store,
        host=hardware.detect(),
        installed={},
        landscape=False,
    )
    return time.perf_counter() - begun, time.process_time() - worked, len(table.candidates)


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two repetitions")
    repeats = 2 if parser.parse_args().quick else 10
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        runs = [once(folder) for _ in range(repeats)]
    best, cpu, rows = min(runs)
    print(
        json.dumps(
            {
                "bench": "gate",
                "rows": rows,
                "seconds_best": round(best, 3),
                "cpu_seconds": round(cpu, 3),
                "seconds_worst": round(max(runs)[0], 3),
                "target_s": TARGET_S,
                "met": best < TARGET_S,
            }
        )
    )
    return 0 if best < TARGET_S else 1


if __name__ == "__main__":
    sys.exit(main())
