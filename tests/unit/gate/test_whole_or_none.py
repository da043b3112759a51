"""Early Ollama on a Mac: a model is on the GPU whole, within a share of the memory, or not at all.

Source of the two shares: ollama v0.1.25, gpu/gpu_darwin.go (two thirds up to 36 GB, else three
quarters). The fact's table ends somewhere; what lies beyond takes its last share.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from seatrial.gate.layers_fit import _whole_or_none

GIB = 1 << 30


def _case(memory_gib: int | None, steps: list[list[float]], vendor: str = "apple") -> Any:
    fact = SimpleNamespace(detail={"share": steps}, condition="the processor alone computes")
    memory = None if memory_gib is None else memory_gib * GIB
    return SimpleNamespace(
        known=SimpleNamespace(
            excludes=lambda subject: fact if subject == "metal+partial" else None
        ),
        target=SimpleNamespace(vendor=vendor, memory_bytes=memory),
    )


@pytest.mark.parametrize(
    ("memory_gib", "least_gib", "share"),
    [
        (32, 21, None),
        (32, 22, 0.667),
        (36, 25, 0.667),
        (64, 48, None),
        (64, 49, 0.75),
        (128, 96, None),  # beyond the table's last row
        (128, 97, 0.75),
        (128, 129, None),  # not even the whole memory holds it: said elsewhere
        (None, 10, None),
    ],
)
def test_the_share_of_the_memory_that_counts(
    memory_gib: int | None, least_gib: int, share: float | None
) -> None:
    case = _case(memory_gib, [[36, 0.667], [64, 0.75]])
    found = _whole_or_none(case, "the model", least_gib * GIB, {})
    assert (found and found.numbers["share"]) == share
    if found is not None:
        assert found.verdict == "degraded"
        assert f"{share:g} of the host's memory" in found.says


def test_other_vendors_split_layers() -> None:
    assert _whole_or_none(_case(32, [[36, 0.667]], "nvidia"), "the model", 30 * GIB, {}) is None


@pytest.mark.parametrize("memory_gb", [48, 200_000])
def test_a_host_of_any_memory_gets_a_verdict(memory_gb: int, first: Any) -> None:
    row = first(
        {
            "model": "gguf-llama-8b",
            "hardware": {"gpu": "m2-max", "os": "macos", "memory_gb": memory_gb},
            "candidates": [{"engine": "ollama", "version": "0.1.25"}],
        }
    )
    assert "memory_pooled" in {r.constraint for r in row.reasons}
