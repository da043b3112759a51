"""What every made-up record shares: where it comes from, hostile text, an interval."""

from __future__ import annotations

from seatrial.core.provenance import Provenance
from seatrial.stats.interval import Interval

ORIGIN = Provenance(
    tool_version="0.0.0-made-up",
    created_at="2026-11-30T10:00:00+00:00",
    inputs={"trace": "ab" * 32},
    seeds={"arrivals": 7},
)
EVIL = "<script>alert(1)</script>\x1b[31m\u202eevil\u202c\"'&" + "x" * 5000
FACT = "vllm==0.33.0/cuda_targets/binary~0a1b2c3d"


def interval(low: float, best: float, high: float) -> Interval:
    """An interval over three starts."""
    return Interval(low=low, best=best, high=high, n=3, confidence=0.95, method="t over starts")
