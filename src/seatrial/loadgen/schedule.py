"""When requests go out: arrival processes, made beforehand from the seed.

All give ascending int64 nanoseconds from the start, the first at 0 or later. Rates are requests
per second. Same seed, same bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seatrial.core.errors import UsageError
from seatrial.core.seeds import stream
from seatrial.core.units import NS_PER_S

Ints = NDArray[np.int64]


def _check(rate: float, count: int) -> None:
    if not (rate > 0 and np.isfinite(rate)) or count < 0:
        raise UsageError(f"a rate of {rate} for {count} requests", remedy="a positive rate")


def _from_gaps(gaps_s: NDArray[np.float64]) -> Ints:
    return _whole(np.cumsum(gaps_s))


def _whole(seconds: NDArray[np.float64]) -> Ints:
    return np.rint(seconds * NS_PER_S).astype(np.int64)


def constant(rate: float, count: int) -> Ints:
    """One every 1/rate seconds, the first at 0."""
    _check(rate, count)
    return _whole(np.arange(count) / rate)


def poisson(rate: float, count: int, seed: int) -> Ints:
    """Independent exponential gaps: a coefficient of variation of 1."""
    return gamma(rate, count, seed, cv=1.0)


def gamma(rate: float, count: int, seed: int, *, cv: float) -> Ints:
    """Gamma gaps with mean 1/rate and coefficient of variation ``cv``; > 1 is burstier."""
    _check(rate, count)
    if not cv > 0:
        raise UsageError(f"cv = {cv}", remedy="a positive coefficient of variation")
    shape = 1.0 / cv**2
    return _from_gaps(stream(seed, "arrivals").gamma(shape, 1.0 / (rate * shape), count))


def on_off(rate: float, count: int, seed: int, *, on_s: float, off_s: float) -> Ints:
    """Poisson during ``on_s`` seconds, silence for ``off_s``, again; ``rate`` is the mean."""
    if not (on_s > 0 and off_s >= 0):
        raise UsageError(f"on {on_s} s, off {off_s} s", remedy="on > 0 and off >= 0 seconds")
    inside = poisson(rate * (on_s + off_s) / on_s, count, seed)
    silence: Ints = inside // round(on_s * NS_PER_S) * round(off_s * NS_PER_S)
    return inside + silence


def ramp(start_rate: float, end_rate: float, count: int, seed: int) -> Ints:
    """Poisson whose rate goes linearly from one to the other over the run.

    By time change: unit-rate arrivals through the inverse of the integrated rate.
    """
    _check(start_rate, count)
    _check(end_rate, count)
    unit = np.cumsum(stream(seed, "arrivals").exponential(1.0, count))
    duration = 2.0 * count / (start_rate + end_rate)
    slope = (end_rate - start_rate) / duration
    if abs(slope) < 1e-12:
        return _whole(unit / start_rate)
    inside = np.maximum(start_rate**2 + 2.0 * slope * unit, (0.01 * start_rate) ** 2)
    times = np.maximum.accumulate((np.sqrt(inside) - start_rate) / slope)
    return _whole(times)
