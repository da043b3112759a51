"""What to measure next when the answer is not clear, how long it takes, what it could change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seatrial.decide.record import EvidenceCell, EvidenceRequest
from seatrial.plan.make import EXTENSION
from seatrial.plan.record import Plan
from seatrial.stats.compare import Comparison
from seatrial.stats.sequential import looks, spend


def starts_needed(found: Comparison, planned: int) -> int | None:
    """Starts of each after which this comparison would be settled if the estimate stays.

    Half of the interval's width shrinks with the root of the number of starts and with the level's
    quantile. None when even EXTENSION times the planned starts would not do: the difference then
    lies too near the margin for this much noise between starts.
    """
    from scipy.special import stdtrit

    n0 = min(found.starts_a, found.starts_b)
    half = found.delta.high - found.delta.best
    if n0 < 2 or found.alpha <= 0 or not np.isfinite(half):
        return None
    se = half / float(stdtrit(max(1, 2 * n0 - 3), 1 - found.alpha))
    room = abs(abs(found.delta.best) - found.margin)
    for n in looks(planned, EXTENSION * planned):
        t = float(stdtrit(2 * n - 3, 1 - spend(n, planned)))
        if n > n0 and t * se * np.sqrt(n0 / n) <= room:
            return n
    return None


def for_open(
    plan: Plan, open_pairs: Sequence[Comparison], minutes_per_cell: float | None
) -> EvidenceRequest:
    """More starts of the pairs that are still open."""
    wanted: dict[str, EvidenceCell] = {}
    far: list[Comparison] = []
    target = 0
    for pair in open_pairs:
        need = starts_needed(pair, plan.starts)
        if need is None:
            far.append(pair)
        n = need or EXTENSION * plan.starts
        target = max(target, n)
        for name, have in ((pair.a, pair.starts_a), (pair.b, pair.starts_b)):
            more = max(1, n - have)
            if name not in wanted or wanted[name].starts < more:
                why = f"{pair.metric}: {pair.a} against {pair.b} is open after {have} starts"
                wanted[name] = EvidenceCell(candidate=name, starts=more, why=why)
    says = "which of " + ", ".join(sorted(wanted)) + " is chosen"
    if far:
        says += (
            f"; for {', '.join(f'{p.a} against {p.b}' for p in far)} even {EXTENSION} times the"
            " starts may not do: the starts differ too much among themselves for a difference of"
            " this size"
        )
    beyond = target if target > plan.measured_to else None
    return request(list(wanted.values()), minutes_per_cell, says, extend_to=beyond)


def request(
    cells: list[EvidenceCell],
    minutes_per_cell: float | None,
    could_change: str,
    *,
    extend_to: int | None = None,
) -> EvidenceRequest:
    """An evidence request with its time."""
    total = sum(cell.starts for cell in cells)
    minutes = None if minutes_per_cell is None else total * minutes_per_cell
    return EvidenceRequest(
        cells=cells, minutes=minutes, could_change=could_change, extend_to=extend_to
    )
