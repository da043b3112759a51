"""The engines' placement flags in common words: what is copied and what is only divided."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.gate.flags import settings
from seatrial.workload.spec import CandidateSpec


def placement(engine: str, devices: int = 8, **args: Any) -> tuple[int, int, int]:
    found = settings(CandidateSpec(engine=engine, args=args), devices)
    return found.tp, found.dp, found.attention_dp


@pytest.mark.parametrize(
    ("engine", "args", "expected"),
    [
        ("vllm", {"tensor_parallel_size": 2, "data_parallel_size": 4}, (2, 4, 1)),
        ("sglang", {"tp_size": 4, "dp_size": 2}, (4, 2, 1)),
        ("sglang", {"tp_size": 8, "dp_size": 8, "enable_dp_attention": True}, (8, 1, 8)),
        ("sglang", {"tp_size": 8, "dp_size": 2, "enable_dp_attention": True}, (8, 1, 2)),
        ("tensorrt-llm", {"tp_size": 8, "enable_attention_dp": True}, (8, 1, 8)),
        ("tensorrt-llm", {"tp_size": 8}, (8, 1, 1)),
        ("lmdeploy", {"dp": 8, "ep": 8}, (8, 1, 8)),
        ("lmdeploy", {"tp": 8, "dp": 4}, (8, 1, 4)),
        ("vllm", {}, (8, 1, 1)),
    ],
)
def test_copies_and_parts(engine: str, args: dict[str, Any], expected: tuple[int, ...]) -> None:
    assert placement(engine, **args) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, None),
        ({"enable_chunked_prefill": None}, None),
        ({"enable_chunked_prefill": True}, True),
        ({"enable_chunked_prefill": "true"}, True),
        ({"enable-chunked-prefill": "True"}, True),
        ({"enable_chunked_context": 1}, True),
        ({"build_config": {"enable_chunked_context": True}}, True),
        ({"enable_chunked_prefill": False}, False),
        ({"enable_chunked_prefill": "False"}, False),
        ({"no_enable_chunked_prefill": True}, False),
        ({"no-enable-chunked-prefill": "true"}, False),
        ({"no_enable_chunked_prefill": False}, None),
    ],
)
def test_whether_prompts_are_split(args: dict[str, Any], expected: bool | None) -> None:
    found = settings(CandidateSpec(engine="vllm", args=args), 1)
    assert found.chunked is expected
