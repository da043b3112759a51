"""Slots and blocks of recurrent state are counted per copy, and a state is cut as its ranks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seatrial.gate.table import GateRow, Reason

First = Callable[..., GateRow]


def _said(first: First, engine: str, version: str, count: int, **args: Any) -> Reason | None:
    concurrency = args.pop("concurrency", 16)
    gpu = args.pop("gpu", "rtx-6000-ada")
    row = first(
        {
            "model": "qwen38-27b-fp8",
            "hardware": {"gpu": gpu, "count": count},
            "requires": {"context_tokens": 4096, "concurrency": concurrency},
            "candidates": [{"engine": engine, "version": version, "args": args}],
        }
    )
    return next((r for r in row.reasons if r.constraint == "state_blocks"), None)


WHOLE, HALF = 153_944_064, 76_972_032  # 48 layers of linear attention: states and convolutions


@pytest.mark.parametrize(
    ("count", "args", "state", "says"),
    [
        (1, {}, WHOLE, "6 of 16 requests"),
        (2, {"tp": 1, "dp_size": 2}, WHOLE, "6 of 8 requests at once in each copy"),
        (4, {"tp": 1, "dp_size": 4}, None, ""),  # four requests a copy
        (2, {"tp": 2, "concurrency": 64}, HALF, "30 of 64 requests"),
        (2, {"tp": 1, "pp_size": 2, "concurrency": 64}, HALF, "30 of 64 requests"),
        (
            2,
            {"tp": 2, "dp_size": 2, "enable_dp_attention": True, "concurrency": 64},
            WHOLE,
            "14 of 32 requests at once in each copy",
        ),
        (
            2,
            {
                "tp": 2,
                "dp_size": 2,
                "enable_dp_attention": True,
                "max_mamba_cache_size": 40,
            },
            WHOLE,
            "about 20 slots",
        ),
    ],
)
def test_slots_of_sglang(
    count: int, args: dict[str, Any], state: int | None, says: str, first: First
) -> None:
    found = _said(first, "sglang", "0.5.19", count, **args)
    assert (found and found.numbers["state_bytes"]) == state
    assert found is None or says in found.says


@pytest.mark.parametrize(
    ("count", "args", "block"),
    [
        (1, {}, 51_314_688),
        (2, {"tensor_parallel_size": 2}, 51_314_688 // 2),
        (2, {"tensor_parallel_size": 1, "pipeline_parallel_size": 2}, 51_314_688 // 2),
    ],
)
def test_blocks_of_vllm(count: int, args: dict[str, Any], block: int, first: First) -> None:
    found = _said(first, "vllm", "0.27.0", count, gpu="rtx-pro-6000", **args)
    assert found is not None
    assert found.numbers["block_bytes"] == block


@pytest.mark.parametrize(
    ("args", "refused"),
    [
        ({"tp_size": 2}, False),
        ({"pp_size": 2}, False),
        ({"tp_size": 2, "enable_attention_dp": True}, True),  # each rank keeps whole states
    ],
)
def test_states_that_tensorrt_llm_lays_out(
    args: dict[str, Any], refused: bool, first: First
) -> None:
    found = _said(first, "tensorrt-llm", "1.2.0", 2, gpu="rtx-pro-6000", **args)
    assert (found is not None and found.verdict == "conditional") == refused
