"""Values of the right type that mean nothing are said, with the nearest that does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seatrial.workload.check import sense_errors, shape_errors
from seatrial.workload.spec import Workload


def _spec(**parts: Any) -> Workload:
    body = {"schema": "seatrial/workload/1", "name": "x", "model": {"path": "m"}, **parts}
    return msgspec.convert(body, Workload)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"model": {"path": "m", "precision": "bf61"}}, "did you mean bf16?"),
        ({"hardware": {"gpu": "t4", "driver": "abc"}}, "hardware.driver: 'abc' is no version"),
        ({"hardware": {"gpu": "t4", "driver": "535\x1b[2J"}}, "'535?[2J'"),
        ({"portability": {"vendors": ["nvidea"]}}, "did you mean nvidia?"),
        ({"requires": {"concurrency": 10**12}}, "beyond anything that exists"),
        ({"requires": {"context_tokens": 10**15}}, "beyond anything that exists"),
        ({"trial": {"seed": 1 << 63}}, "trial.seed"),
        ({"hardware": {"gpu": "t4", "count": 10**9}}, "hardware.count"),
    ],
)
def test_is_an_error(parts: dict[str, Any], said: str) -> None:
    errors = sense_errors(_spec(**parts))
    assert any(said in e for e in errors), errors


@pytest.mark.parametrize(
    "parts",
    [
        {"model": {"path": "m", "precision": "BF16"}},
        {"model": {"path": "m", "precision": "Q4_K_M"}},
        {"model": {"path": "m", "precision": "IQ4_XS"}},
        {"hardware": {"gpu": "t4", "driver": "535.161.08"}},
        {"hardware": {"gpu": "mi300x", "driver": "6.4.1"}},
        {"hardware": {"gpu": "h101-80gb"}},
        {"portability": {"vendors": ["nvidia", "AMD"]}},
        {"trial": {"seed": 0}},
    ],
)
def test_is_none(parts: dict[str, Any]) -> None:
    assert sense_errors(_spec(**parts)) == []


def test_a_word_that_is_no_engine_names_the_nearest() -> None:
    body = {
        "schema": "seatrial/workload/1",
        "name": "x",
        "model": {"path": "m"},
        "candidates": [{"engine": "vlm"}],
    }
    assert any("did you mean vllm?" in e for e in shape_errors(body))
