"""What an equal tuning effort yields: the records of ``tuning/tuning.json``.

A published gap between two engines is often a gap between two configurations. So each engine gets
the same number of cells and the same minutes over its own flags, and the gap is given twice: as
the engines come, and as they are after tuning.

    share owned by configuration = 1 - ln(tuned ratio) / ln(default ratio)

0: tuning changed nothing between the two. 1: the whole gap was configuration. Above 1: it turned
round. Below 0: it grew. It says nothing where the default ratio is within the trial's margin.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from seatrial.bench import Cell
from seatrial.core.provenance import Provenance

SCHEMA = "seatrial/tuning/1"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration in one cell; ``args`` on top of the candidate's own, {} its default.

    ``goodput`` is a share, latencies are ms, ``minutes`` wall time, start included.
    """

    args: dict[str, Any]
    valid: bool
    because: list[str]
    goodput: float | None
    ttft_p95_ms: float | None
    tpot_mean_ms: float | None
    e2e_mean_ms: float | None
    output_tokens_per_s: float | None
    minutes: float


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """One engine's effort.

    Attributes:
        space: flag -> values tried; ``left_out``: flags its version is not known to have.
        tried: on the tuning slice, in order; the first is the default.
        best: args of the best of them.
        confirmed: default and best once more each, on the trial's own traffic; empty if not asked.
        stopped: why it ended before its cells were used up; "" if it did not.
    """

    candidate: str
    engine: str
    version: str
    role: str
    space: dict[str, list[Any]]
    source: str
    left_out: list[str]
    tried: list[Outcome]
    best: dict[str, Any]
    confirmed: list[Outcome]
    minutes: float
    stopped: str


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Two engines, ``b`` over ``a`` in the metric, before and after; None where unknown."""

    a: str
    b: str
    default_ratio: float | None
    tuned_ratio: float | None
    configuration_share: float | None
    basis: str
    says: str


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """tuning/tuning.json.

    ``slice`` says which requests were used and that the trial does not use them.
    """

    schema: str
    metric: str
    lower_is_better: bool
    slice: dict[str, Any]
    cells_each: int
    minutes_each: float
    engines: list[Tuned]
    gaps: list[Gap]
    provenance: Provenance


def outcome_of(cell: Cell, args: dict[str, Any], minutes: float) -> Outcome:
    """What tuning keeps of a cell."""
    return Outcome(
        args=args,
        valid=cell.valid,
        because=cell.invalid_because,
        goodput=cell.goodput,
        ttft_p95_ms=cell.ttft_ms.p95,
        tpot_mean_ms=cell.tpot_ms.mean,
        e2e_mean_ms=cell.e2e_ms.mean,
        output_tokens_per_s=cell.output_tokens_per_s,
        minutes=minutes,
    )


def value_of(found: Outcome, offline: bool) -> float | None:
    """The metric that is tuned: mean E2E latency, offline output tokens per second."""
    if not found.valid:
        return None
    return found.output_tokens_per_s if offline else found.e2e_mean_ms


def best_of(tried: list[Outcome], offline: bool) -> Outcome | None:
    """The best valid outcome: goodput first (online), then the metric; the earliest of equals."""
    usable = [o for o in tried if value_of(o, offline) is not None]

    def rank(found: Outcome) -> tuple[float, float]:
        value = value_of(found, offline) or 0.0
        return (0.0, -value) if offline else (-round(found.goodput or 0.0, 3), value)

    return min(usable, key=rank, default=None)


def gaps_of(engines: list[Tuned], offline: bool, margin: float) -> list[Gap]:
    """Every pair, from the confirming cells where both have them, else from the tuning slice."""
    return [_gap(a, b, offline, margin) for i, a in enumerate(engines) for b in engines[i + 1 :]]


def _gap(a: Tuned, b: Tuned, offline: bool, margin: float) -> Gap:
    confirmed = bool(a.confirmed and b.confirmed)
    pairs = [_before_after(e, offline, confirmed) for e in (a, b)]
    (a0, a1), (b0, b1) = pairs
    before, after = _ratio(b0, a0), _ratio(b1, a1)
    share = None
    if before and after and abs(math.log(before)) > math.log1p(margin):
        share = 1.0 - math.log(after) / math.log(before)
    return Gap(
        a=a.candidate,
        b=b.candidate,
        default_ratio=before,
        tuned_ratio=after,
        configuration_share=share,
        basis="one cell each on the trial's traffic" if confirmed else "tuning slice",
        says=_says(before, after, share, margin),
    )


def _before_after(
    engine: Tuned, offline: bool, confirmed: bool
) -> tuple[float | None, float | None]:
    if confirmed:
        return value_of(engine.confirmed[0], offline), value_of(engine.confirmed[-1], offline)
    best = best_of(engine.tried, offline)
    default = value_of(engine.tried[0], offline) if engine.tried else None
    return default, value_of(best, offline) if best else None


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over and under else None


def _says(before: float | None, after: float | None, share: float | None, margin: float) -> str:
    if before is None or after is None:
        return "one of the two has no valid cell"
    if share is None:
        return f"as they come the two are within the margin of {margin:.0%}: no gap to divide"
    return (
        f"{before:.2f} times as they come, {after:.2f} times after equal tuning:"
        f" configuration owns {share:.0%} of the gap"
    )
