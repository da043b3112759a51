"""Shapes x cards x engines x requirements at random: a verdict each time, never an exception."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial import gate, hardware
from seatrial.facts import ENGINES, FactStore
from seatrial.hardware import all_gpus
from seatrial.workload.spec import Workload

VERSIONS = {
    "vllm": ["0.2.7", "0.6.3", "0.10.1", "0.16.0", "0.33.0", "0.40.0", None],
    "sglang": ["0.3.0", "0.4.9", "0.5.23", None],
    "tensorrt-llm": ["0.18.0", "1.2.1", "1.3.0rc29", None],
    "lmdeploy": ["0.9.0", "0.18.0", None],
    "tgi": ["2.0.0", "3.3.7", None],
    "llama.cpp": ["b3000", "b6000", "b11549", None],
    "ollama": ["0.3.0", "0.33.0", None],
    "mlc-llm": ["0.1.dev1320", "0.20.0", None],
    "transformers": ["4.40.0", "5.24.0", None],
}


def _question(rng: random.Random, path: str) -> dict[str, Any]:
    engine = rng.choice(ENGINES)
    candidate: dict[str, Any] = {"engine": engine, "version": rng.choice(VERSIONS[engine])}
    if engine == "lmdeploy":
        candidate["backend"] = rng.choice(["turbomind", "pytorch", None])
    if rng.random() < 0.4:
        candidate["args"] = rng.choice(
            [
                {"tensor_parallel_size": rng.choice([1, 2, 3, 8])},
                {"tp_size": 4, "pp_size": 2},
                {"enable_expert_parallel": True, "data_parallel_size": 4},
                {"ctx_size": 8192, "np": 4},
                {"max_model_len": 4096, "gpu_memory_utilization": 0.95},
                {"lora_modules": ["a=./x"]},
            ]
        )
    asked = {
        "context_tokens": rng.choice([None, 512, 32768, 10**6]),
        "concurrency": rng.choice([None, 1, 8, 200]),
        "structured_output": rng.choice([None, "json_schema", True]),
        "lora": rng.choice([None, True, {"max_adapters": 8, "max_rank": 64}]),
        "speculative": rng.choice([None, "mtp", "eagle3", True]),
        "pd_disaggregation": rng.choice([None, True]),
        "kv_cache_dtype": rng.choice([None, "fp8", "q8_0", "nonsense"]),
        "vision": rng.random() < 0.2,
        "embeddings": rng.random() < 0.2,
        "prefix_cache": rng.random() < 0.3,
        "api": rng.choice([[], ["openai.responses"]]),
    }
    where: dict[str, Any] = rng.choice(
        [
            {
                "gpu": rng.choice(list(all_gpus())),
                "count": rng.choice([1, 2, 3, 8]),
                "nodes": rng.choice([1, 1, 2]),
                "interconnect": rng.choice([None, "ethernet-1g", "pcie"]),
                "driver": rng.choice([None, "470.1", "580.95"]),
            },
            {
                "cpu": {
                    "arch": rng.choice(["x86_64", "aarch64"]),
                    "flags": rng.choice([[], ["avx2"]]),
                    "memory_gb": rng.choice([None, 8, 512]),
                }
            },
            {"gpu": "no-such-card"},
            {},
        ]
    )
    return {
        "schema": "seatrial/workload/1",
        "name": "r",
        "model": {"path": path},
        "hardware": where,
        "requires": {k: v for k, v in asked.items() if v is not None},
        "slo": rng.choice([{}, {"tpot_ms": {"p95": 20}, "ttft_ms": {"p95": 500}}]),
        "platform": rng.choice([{}, {"routing": True, "metrics": "prometheus"}]),
        "team": rng.choice([{}, {"model_changes_per_month": 3, "max_build_minutes": 5}]),
        "portability": rng.choice([{}, {"vendors": ["amd", "cpu", "tpu"]}]),
        "operations": rng.choice([{}, {"cold_start_s": 30}]),
        "candidates": [candidate],
    }


@pytest.mark.parametrize("rounds", [300, pytest.param(6000, marks=pytest.mark.slow)])
def test_random_questions(
    rounds: int,
    shapes: dict[str, Any],
    store: FactStore,
    host: hardware.Host,
    tmp_path: Path,
    write: Any,
) -> None:
    paths = [str(write(tmp_path / name.replace(":", "-"), shape)) for name, shape in shapes.items()]
    for number in range(rounds):
        rng = random.Random(f"question/{number}")
        spec = msgspec.convert(_question(rng, rng.choice(paths)), Workload)
        table = gate.run(
            spec,
            base_dir=tmp_path,
            fingerprint=None,
            facts=store,
            host=host,
            installed={},
            landscape=False,
        )
        row = table.candidates[0]
        assert row.reasons, number
        for reason in row.reasons:
            if reason.verdict == "unknown":
                assert reason.probe is not None, (number, reason)
            elif reason.verdict != "feasible":
                assert reason.remedy, (number, reason)
        msgspec.json.encode(table)
