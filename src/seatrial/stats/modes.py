"""Does a distribution have two modes?

A server that stalls now and then by a fixed time (8 % of steps by 0.92 s, in one reported case) has
two modes, and a mean with a normal interval describes neither; means of three runs then differ by a
third. Silverman's test (J. R. Statist. Soc. B 43, 1981) takes the smallest bandwidth at which the
kernel density has one mode and asks how often a sample drawn from that density would need as much
smoothing: seldom means that there really are two. A bump that holds less than MIN_SHARE of the
values is an outlier, not a mode.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from seatrial.core.seeds import stream

MIN_SHARE = 0.03
MIN_VALUES = 40
MOST_VALUES = 5000
_GRID = 512

Floats = NDArray[np.float64]


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """One mode: where it is (unit of the values) and the share of the values that belong to it."""

    at: float
    share: float


class Modes(msgspec.Struct, frozen=True, kw_only=True):
    """The finding. ``p`` is the chance of such a shape from one mode; None with too few values."""

    several: bool
    p: float | None
    modes: list[Mode]
    n: int


def find_modes(values: ArrayLike, *, seed: int, level: float = 0.01, draws: int = 199) -> Modes:
    """Look for a second mode on the log scale (latencies are positive and skewed).

    Args:
        values: positive; at most MOST_VALUES of them are used, evenly spaced in order of size.
        seed: of the bootstrap.
    """
    x = np.sort(np.log(np.asarray(values, dtype=np.float64)))
    n = int(x.size)
    if n < MIN_VALUES or x[0] == x[-1]:
        return Modes(several=False, p=None, modes=[], n=n)
    if n > MOST_VALUES:
        x = x[np.linspace(0, n - 1, MOST_VALUES).astype(int)]
    spread = float(x.std())
    h = _critical_bandwidth(x, spread)
    p = _p_value(x, h, spread, seed, draws)
    found = _split(x, 0.9 * h) if p <= level else _split(x, h)
    return Modes(several=p <= level and len(found) > 1, p=p, modes=found, n=n)


def _critical_bandwidth(x: Floats, spread: float) -> float:
    """The smallest bandwidth at which one mode is left, to 1 %."""
    low, high = 1e-3 * spread, 2.0 * spread
    while high / low > 1.01:
        middle = float(np.sqrt(low * high))
        if len(_split(x, middle)) > 1:
            low = middle
        else:
            high = middle
    return high


def _p_value(x: Floats, h: float, spread: float, seed: int, draws: int) -> float:
    """Share of smoothed bootstrap samples that still have several modes at bandwidth h."""
    rng = stream(seed, "modes")
    shrink = 1 / np.sqrt(1 + h**2 / spread**2)  # keeps the variance of the sample
    more = 0
    for _ in range(draws):
        drawn = rng.choice(x, x.size) + h * rng.normal(size=x.size)
        sample = np.sort(x.mean() + (drawn - x.mean()) * shrink)
        more += len(_split(sample, h)) > 1
    return (more + 1) / (draws + 1)


def _split(x: Floats, h: float) -> list[Mode]:
    """Modes of the kernel density at bandwidth h that hold at least MIN_SHARE of sorted ``x``."""
    low, high = x[0] - 3 * h, x[-1] + 3 * h
    step = (high - low) / (_GRID - 1)
    counts = np.bincount(((x - low) / step + 0.5).astype(int), minlength=_GRID)[:_GRID]
    frequency = np.fft.rfftfreq(2 * _GRID, d=step)
    smooth = np.exp(-2 * (np.pi * frequency * h) ** 2)
    density = np.fft.irfft(np.fft.rfft(counts, 2 * _GRID) * smooth, 2 * _GRID)[:_GRID]
    rising = np.diff(density) > 0
    valleys = np.flatnonzero(~rising[:-1] & rising[1:]) + 1
    edges = [0, *(int(v) for v in valleys), _GRID - 1]
    total = counts.sum()
    pieces = []
    for a, b in pairwise(edges):
        share = counts[a : b + 1].sum() / total
        if share >= MIN_SHARE:
            at = float(np.exp(low + step * (a + int(np.argmax(density[a : b + 1])))))
            pieces.append(Mode(at=at, share=float(share)))
    return pieces
