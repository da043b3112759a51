"""What the requests show that a reader of the comparison must know: two modes, a long warm-up.

TPOT is looked at, not TTFT: TTFT follows the lengths and bursts of the trace, so it has several
modes and trends that are the traffic's own. Nothing is cut out here; every candidate met the same
requests in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seatrial.decide.requests import Columns, completed, offered
from seatrial.plan.record import Objective
from seatrial.stats.modes import find_modes
from seatrial.stats.percentile import QS
from seatrial.stats.steady import mser

NOTABLE = 0.02  # a warm-up that moves the mean by less is not worth a line


def notes_of(candidate: str, starts: Sequence[Columns], seed: int) -> list[str]:
    """Sentences about one candidate; empty when there is nothing to say."""
    series = [_tpot_ms(columns) for columns in starts]
    series = [s for s in series if s.size]
    if not series:
        return []
    return _modes(candidate, np.concatenate(series), seed) + _warm_up(candidate, series)


def thin_tails(requests: Mapping[str, Sequence[Columns]], links: Sequence[Objective]) -> list[str]:
    """A line where a ranking percentile rests on less than one request beyond it per start."""
    notes = []
    for link in links:
        q = QS.get(link.metric.partition(".")[2])
        sizes = [int(offered(c).sum()) for found in requests.values() for c in found]
        if q and sizes and min(sizes) * (1 - q) < 1 - 1e-9:
            notes.append(
                f"{link.metric} rests on {min(sizes)} requests per start: with fewer than"
                f" {round(1 / (1 - q))} it is nearly the maximum"
            )
    return notes


def _tpot_ms(columns: Columns) -> np.ndarray:
    """TPOT of the completed requests in order of schedule."""
    order = np.argsort(columns["scheduled_ns"], kind="stable")
    values = np.where(completed(columns), columns["tpot_ns"], np.nan)[order] / 1e6
    return np.asarray(values[values > 0])


def _modes(candidate: str, values: np.ndarray, seed: int) -> list[str]:
    found = find_modes(values, seed=seed)
    if not found.several:
        return []
    parts = ", ".join(f"{m.at:.3g} ms ({m.share:.0%})" for m in found.modes)
    return [
        f"TPOT of {candidate} has {len(found.modes)} modes: {parts}; one number describes neither,"
        " look at the distribution"
    ]


def _warm_up(candidate: str, series: Sequence[np.ndarray]) -> list[str]:
    found = [mser(s) for s in series]
    long = [f for f in found if f.found and abs(f.mean_all / f.mean_steady - 1) > NOTABLE]
    never = [f for f in found if not f.found and f.n >= 50]
    notes = []
    if long:
        moved = float(np.median([f.mean_all / f.mean_steady - 1 for f in long]))
        notes.append(
            f"TPOT of {candidate} has a warm-up in {len(long)} of {len(found)} starts (median"
            f" {int(np.median([f.skip for f in long]))} requests, {moved:+.1%} on the mean); it is"
            " part of what is compared"
        )
    if never:
        notes.append(
            f"TPOT of {candidate} had not settled by the middle of {len(never)} of {len(found)}"
            " starts: the run is too short for its steady state, or the load is above what it"
            " carries"
        )
    return notes
