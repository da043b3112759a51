"""Warm-up and steady state, found from the data.

The beginning of a run is slower (cold caches, graphs that are still compiled) or faster (an empty
queue) than the rest, and its end drains. MSER-5 (White, Simulation 69, 1997; the batch form of
Spratt, 1998) finds how much of the beginning to leave out: of all truncation points d it takes the
one that makes the standard error of the mean of what is left smallest,

    z(d) = sum_{i > d} (x_i - mean_{> d})^2 / (n - d)^2,       x_i means of 5 values each,

and it trusts no answer in the second half: then the series has not settled.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

BATCH = 5
MIN_BATCHES = 10


class Steady(msgspec.Struct, frozen=True, kw_only=True):
    """Where the steady state begins.

    Attributes:
        found: whether there is one; False with too few values (fewer than 50) or one that has not
            settled by the middle.
        skip: values at the beginning that belong to the warm-up; 0 when not found.
        n: values looked at.
        mean_all, mean_steady: means with and without the warm-up, in the unit of the values.
        says: in one sentence.
    """

    found: bool
    skip: int
    n: int
    mean_all: float
    mean_steady: float
    says: str


def mser(values: ArrayLike, batch: int = BATCH) -> Steady:
    """MSER-5 over values in order of time (all finite)."""
    x = np.asarray(values, dtype=np.float64)
    n = int(x.size)
    mean = float(x.mean()) if n else float("nan")
    k = n // batch
    if k < MIN_BATCHES:
        says = f"{n} values are too few to tell a warm-up ({MIN_BATCHES * batch} are needed)"
        return Steady(found=False, skip=0, n=n, mean_all=mean, mean_steady=mean, says=says)
    means = x[: k * batch].reshape(k, batch).mean(axis=1)
    left = np.arange(k, 0, -1)
    total = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means**2)[::-1])[::-1]
    z = np.maximum(squares - total**2 / left, 0.0) / left**2.0
    d = int(np.argmin(z[: k - batch]))  # the last few batches are always too even
    if d > k // 2:
        says = "the values have not settled by the middle of the run"
        return Steady(found=False, skip=0, n=n, mean_all=mean, mean_steady=mean, says=says)
    skip = d * batch
    steady = float(x[skip:].mean())
    says = f"the first {skip} of {n} values are warm-up" if skip else "no warm-up is seen"
    return Steady(found=True, skip=skip, n=n, mean_all=mean, mean_steady=steady, says=says)


def busy_window(start: ArrayLike, end: ArrayLike, share: float = 0.8) -> tuple[float, float] | None:
    """The longest stretch in which at least ``share`` of the peak number was in flight.

    Ramp-up and drain lie outside of it: a rate over the whole run is lower than what the server
    sustains by the part that they take (MEAS-029).

    Args:
        start, end: of each request, in any unit of time; returned in the same.

    None without requests.
    """
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    if not a.size:
        return None
    when = np.concatenate([a, b])
    step = np.concatenate([np.ones(a.size), -np.ones(b.size)])
    order = np.lexsort((step, when))
    when, level = when[order], np.cumsum(step[order])
    busy = level >= share * level.max()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], busy, [False]]).astype(int)))
    begins, ends = edges[::2], np.minimum(edges[1::2], when.size - 1)
    longest = int(np.argmax(when[ends] - when[begins]))
    return float(when[begins[longest]]), float(when[ends[longest]])
