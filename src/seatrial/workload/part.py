"""A part of a trace for a benchmark of N minutes, chosen by a stated rule.

``representative``: of all windows of that length (one starting every N/20) the one least unlike
the whole: |ln(rate / mean rate)| + KS distance of inputs + KS distance of outputs. ``busiest``: the
one with the most requests.
``first``: from the first arrival on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from seatrial.core.errors import UsageError
from seatrial.core.units import NS_PER_S
from seatrial.trace import RequestTable
from seatrial.trace.table import Ints
from seatrial.workload import transform
from seatrial.workload.lengths import known
from seatrial.workload.twosample import distance

Rule = Literal["representative", "busiest", "first"]
FEWEST = 20
STEPS = 20
MOST_WINDOWS = 2000


@dataclass(frozen=True, slots=True)
class Part:
    """The chosen part, where it starts, and how unlike the whole it is (0 is alike)."""

    table: RequestTable
    start_s: float
    duration_s: float
    unlike: float
    rule: str


def choose(table: RequestTable, minutes: float, rule: Rule = "representative") -> Part:
    """The part of ``minutes`` that the rule names.

    Raises:
        UsageError: the trace has no times, is shorter, or no window has 20 requests.
    """
    if table.arrival_ns is None:
        raise UsageError(
            "the trace has no arrival times, so no minutes can be cut from it",
            remedy="cut by number: traffic.slice: {requests: N}",
        )
    span_s = float(table.arrival_ns[-1]) / NS_PER_S
    duration = minutes * 60
    if duration >= span_s:
        return Part(table, 0.0, span_s, 0.0, rule)
    step = max(duration / STEPS, (span_s - duration) / MOST_WINDOWS)
    starts = np.arange(0, span_s - duration + 1e-9, step)
    columns = [c for c in (table.input_tokens, table.output_tokens) if c is not None]
    whole = [(c, np.sort(there)) for c in columns if (there := known(c)) is not None]
    best: Part | None = None
    score = math.inf
    for start in starts[:1] if rule == "first" else starts:
        low, high = np.searchsorted(
            table.arrival_ns, [round(start * NS_PER_S), round((start + duration) * NS_PER_S)]
        )
        if high - low < FEWEST:
            continue
        rows = np.arange(low, high, dtype=np.int64)
        unlike = _unlike(table, rows, whole, duration, span_s)
        this = -float(len(rows)) if rule == "busiest" else unlike
        if this < score:
            score = this
            best = Part(transform.take(table, rows), float(start), duration, unlike, rule)
    if best is None:
        raise UsageError(
            f"no window of {minutes:g} minutes holds {FEWEST} requests",
            remedy="take more minutes, or scale the rate",
        )
    return best


def _unlike(
    table: RequestTable, rows: Ints, whole: list[tuple[Ints, Ints]], duration: float, span_s: float
) -> float:
    total = abs(math.log(len(rows) / duration / (table.n / span_s)))
    for column, ordered in whole:
        part = known(column[rows])
        if part is not None:
            total += distance(np.sort(part), ordered)
    return total
