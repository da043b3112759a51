"""The rule of ``standing`` for two candidates and one metric, over thousands of trials at once.

It exists to test the rule: the planted-truth suite plays whole sequential trials with known truth
and counts false winners. A law in the tests holds it equal to ``next_cell`` and ``standing``, trial
by trial.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seatrial.plan.make import interleave
from seatrial.stats.compare import Outcome, contrast, p_values, read_outcome
from seatrial.stats.outlying import outlying
from seatrial.stats.sequential import looks, spend

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Duels(NamedTuple):
    """Per trial: what the rule says of a against b, and after how many starts of each."""

    outcome: NDArray[np.str_]
    starts: NDArray[np.int64]


def duels(y: ArrayLike, *, planned: int, margin: float, seed: int = 1) -> Duels:
    """Play whole trials.

    Args:
        y: (trials, 2, planned + 1) log values per start, lower is better; the last start is read
            only where one of the others is outlying.
    """
    values = np.asarray(y, dtype=np.float64)
    places = positions(planned, seed)
    outcome = np.full(values.shape[0], Outcome.UNDECIDED.value, dtype="U12")
    starts = np.full(values.shape[0], planned)
    for n in (n for n in looks(planned, planned) if n >= 2):
        going = np.flatnonzero(outcome == Outcome.UNDECIDED.value)
        if not going.size:
            break
        kept = kept_at(values[going], n)
        said = _look(values[going], kept, places, spend(n, planned), float(np.log1p(margin)))
        done = said != Outcome.UNDECIDED.value
        outcome[going[done]], starts[going[done]] = said[done], n
    return Duels(outcome, starts)


def kept_at(y: Floats, n: int) -> Bools:
    """(trials, 2, planned + 1): the starts that count after n of each."""
    index = np.arange(y.shape[2])
    pool = np.broadcast_to(index < n, y.shape).copy()
    flagged = _flagged(np.where(pool, y, np.nan))
    grow = _single(flagged).any(axis=(1, 2))
    pool[grow] = index < n + 1
    flagged[grow] = _flagged(np.where(pool[grow], y[grow], np.nan))
    return np.asarray(pool & ~_single(flagged))


def _single(flagged: Bools) -> Bools:
    """The flagged starts of arms that have just one."""
    return np.asarray(flagged & (flagged.sum(axis=2) == 1)[..., None])


def positions(planned: int, seed: int) -> NDArray[np.int64]:
    """(2, planned + 1) places in the order of execution, the reserve start last."""
    places = np.zeros((2, planned + 1), dtype=np.int64)
    for cell in interleave(["0", "1"], planned + 1, seed):
        places[int(cell.candidate), cell.start - 1] = cell.position
    return places


def _flagged(pool: Floats) -> Bools:
    """All outlying starts, found one at a time; NaN is no start."""
    flat = pool.reshape(pool.shape[0], 2 * pool.shape[2]).copy()
    arm = np.repeat([0, 1], pool.shape[2])
    found = np.zeros(flat.shape, dtype=bool)
    todo = np.arange(flat.shape[0])
    while todo.size:
        hit = outlying(flat[todo], arm)
        found[todo] |= hit
        flat[todo] = np.where(hit, np.nan, flat[todo])
        todo = todo[hit.any(axis=1)]
    return found.reshape(pool.shape)


def _look(
    y: Floats, kept: Bools, places: NDArray[np.int64], level: float, margin: float
) -> NDArray[np.str_]:
    said = np.full(y.shape[0], Outcome.UNDECIDED.value, dtype="U12")
    patterns, which = np.unique(
        kept.reshape(kept.shape[0], kept[0].size), axis=0, return_inverse=True
    )
    is_a = np.repeat([True, False], y.shape[2])
    for k, pattern in enumerate(patterns):
        mine = np.flatnonzero(which.ravel() == k)
        flat = -y[mine].reshape(mine.size, -1)[:, pattern]
        found = contrast(flat, is_a[pattern], places.ravel()[pattern])
        said[mine] = read_outcome(p_values(found, margin), level)
    return said
