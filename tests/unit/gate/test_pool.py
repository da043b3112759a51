"""The KV pool on one device against what vLLM measured (llm-d-planner,
docs/empirical-vllm-memory-results.md: vLLM 0.11, H100 of 79.18 GiB)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial import facts, hardware
from seatrial.gate.case import Case
from seatrial.gate.pool import PIECE, Pool, pool, scheduled_tokens
from seatrial.gate.run import Judge
from seatrial.workload.spec import Workload

GIB = 1 << 30
LLAMA_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
QWEN3_32B = {
    "model_type": "qwen3",
    "hidden_size": 5120,
    "num_hidden_layers": 64,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 25600,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
}
QWEN3_06B = {
    "model_type": "qwen3",
    "hidden_size": 1024,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 3072,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}
LLAMA_70B_FP8 = {
    **LLAMA_8B,
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "intermediate_size": 28672,
    "quantization_config": {"quant_method": "fp8"},
}
GPT_OSS_20B = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 2880,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "vocab_size": 201088,
    "sliding_window": 128,
    "tie_word_embeddings": False,
    "quantization_config": {"quant_method": "mxfp4"},
}


def _case(
    folder: Path,
    config: dict[str, Any],
    engine: str,
    version: str,
    gpu: str,
    args: dict[str, Any],
    count: int,
) -> Case:
    (folder / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16", **config}))
    spec = msgspec.convert(
        {
            "schema": "seatrial/workload/1",
            "name": "pool",
            "model": {"path": str(folder)},
            "hardware": {"gpu": gpu, "count": count},
            "candidates": [{"engine": engine, "version": version, "args": args}],
        },
        Workload,
    )
    judge = Judge(spec, folder, None, facts.load(user=Path("/nonexistent")), hardware.detect(), {})
    assert spec.candidates is not None
    return judge.case(spec.candidates[0])


def _pool(folder: Path, config: dict[str, Any], tp: int = 1) -> Pool:
    found = pool(
        _case(folder, config, "vllm", "0.11.0", "h100-80gb", {"tensor_parallel_size": tp}, tp)
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "config", "tp", "measured"),
    [
        ("Llama-3.1-8B", LLAMA_8B, 1, 51.38),
        ("Qwen3-0.6B", QWEN3_06B, 1, 64.45),
        ("Qwen3-32B", QWEN3_32B, 1, 4.45),
        ("Qwen3-32B at TP 2", QWEN3_32B, 2, 34.49),
        ("Llama-3.3-70B-FP8 at TP 2", LLAMA_70B_FP8, 2, 32.00),
        ("gpt-oss-20b", GPT_OSS_20B, 1, 50.28),
    ],
)
def test_pool_that_vllm_measured(
    name: str, config: dict[str, Any], tp: int, measured: float, tmp_path: Path
) -> None:
    room = _pool(tmp_path, config, tp).room
    assert room.lower / GIB < measured < room.upper / GIB, name
    assert room.best / GIB == pytest.approx(measured, rel=0.03), name


def test_a_row_that_was_mislabelled_upstream_lies_in_the_bound_at_its_real_share(
    tmp_path: Path,
) -> None:
    """gpt-oss-120b: the table says 0.9, its own arithmetic 0.95; measured 3.33 GiB."""
    config = {**GPT_OSS_20B, "num_hidden_layers": 36, "num_local_experts": 128}
    case = _case(
        tmp_path, config, "vllm", "0.11.0", "h100-80gb", {"gpu_memory_utilization": 0.95}, 1
    )
    found = pool(case)
    assert found is not None
    assert found.room.lower / GIB < 3.33 < found.room.upper / GIB
    assert found.weights.best / GIB == pytest.approx(64.38, rel=0.01)


def test_a_share_of_the_free_memory_is_not_a_share_of_the_total(tmp_path: Path) -> None:
    """The same 0.9 leaves several GiB more where it is taken of what is free (TensorRT-LLM)."""
    of_total = _pool(tmp_path, QWEN3_32B).room.best
    case = _case(
        tmp_path,
        QWEN3_32B,
        "tensorrt-llm",
        "1.2.1",
        "h100-80gb",
        {"free_gpu_memory_fraction": 0.9},
        1,
    )
    of_free = pool(case)
    assert of_free is not None
    assert of_free.of_free
    assert of_free.room.best - of_total > 4 * GIB


def test_vllm_takes_092_of_the_total_from_022(tmp_path: Path) -> None:
    old = pool(_case(tmp_path, LLAMA_8B, "vllm", "0.21.0", "h100-80gb", {}, 1))
    new = pool(_case(tmp_path, LLAMA_8B, "vllm", "0.22.1", "h100-80gb", {}, 1))
    assert old is not None
    assert new is not None
    assert (old.share, new.share) == (0.9, 0.92)


def test_fewer_sequences_leave_more_for_the_cache(tmp_path: Path) -> None:
    many = _pool(tmp_path, QWEN3_32B)
    few = pool(_case(tmp_path, QWEN3_32B, "vllm", "0.11.0", "h100-80gb", {"max_num_seqs": 64}, 1))
    assert few is not None
    assert few.room.best > many.room.best + 4 * GIB


def test_ranks_share_the_weights_and_pipeline_stages_the_layers(tmp_path: Path) -> None:
    whole = _pool(tmp_path, LLAMA_8B).weights.best
    half = _pool(tmp_path, LLAMA_8B, 2).weights.best
    assert half == pytest.approx(whole / 2, rel=0.01)
    case = _case(
        tmp_path, LLAMA_8B, "vllm", "0.11.0", "h100-80gb", {"pipeline_parallel_size": 2}, 2
    )
    staged = pool(case)
    assert staged is not None
    assert staged.weights.lower <= whole / 2 <= staged.weights.upper


@pytest.mark.parametrize(
    ("version", "gpu", "tp", "args", "share"),
    [
        ("0.2.0", "h100-80gb", 8, {}, 0.84),
        ("0.4.4", "h100-80gb", 2, {}, 0.87),
        ("0.4.7", "h200", 8, {}, 0.87),
        ("0.4.9", "h100-80gb", 1, {}, 0.874),
        ("0.5.16", "mi355x", 1, {}, 0.91),  # sgl-project/sglang#18263 logs 0.911
        ("0.5.16", "rtx-4090", 1, {"chunked_prefill_size": 8192}, 0.464),
        ("0.5.9", "rtx-3060-12gb", 1, {"chunked_prefill_size": 8192}, 0.0),  # 12.6 of 11.9 GiB
        ("0.5.16", "rtx-4090", 1, {"mem_fraction_static": 0.8}, 0.8),
    ],
)
def test_sglang_takes_the_share_of_its_release(
    version: str, gpu: str, tp: int, args: dict[str, Any], share: float, tmp_path: Path
) -> None:
    found = pool(_case(tmp_path, LLAMA_8B, "sglang", version, gpu, {"tp": tp, **args}, tp))
    assert found is not None
    assert found.share == pytest.approx(share, abs=0.002)


def test_a_tower_takes_a_part_of_sglangs_share(tmp_path: Path) -> None:
    eye = {"vision_config": {"num_hidden_layers": 45, "hidden_size": 3200}}
    seeing = {**LLAMA_8B, "architectures": ["InternVLChatModel"], **eye}
    plain = pool(_case(tmp_path, LLAMA_8B, "sglang", "0.5.16", "h100-80gb", {}, 1))
    towered = pool(_case(tmp_path, seeing, "sglang", "0.5.16", "h100-80gb", {}, 1))
    assert plain is not None
    assert towered is not None
    assert towered.share == pytest.approx(plain.share * 0.95 * 0.8)


def test_a_share_above_sglangs_own_leaves_no_room_for_activations(tmp_path: Path) -> None:
    case = _case(tmp_path, LLAMA_8B, "sglang", "0.5.9", "rtx-4090", {"tp": 1}, 1)
    own, wide = pool(case), pool(case, generous=True)
    stated = pool(
        case.with_args(mem_fraction_static=0.95, chunked_prefill_size=2048, max_running_requests=16)
    )
    assert own is not None
    assert wide is not None
    assert stated is not None
    assert own.activation.best == 0
    assert wide.share == stated.share == 0.95
    assert wide.activation == stated.activation
    assert wide.activation.lower > 0


def test_early_vllm_splits_into_pieces_whatever_the_length(tmp_path: Path) -> None:
    flags = {"enable_chunked_prefill": True}
    for length in (1024, 20_000, 100_000):
        case = _case(
            tmp_path, LLAMA_8B, "vllm", "0.6.4", "h100-80gb", {"max_model_len": length, **flags}, 1
        )
        assert scheduled_tokens(case) == (256, PIECE)
