"""Means with intervals: over server starts (t), and of paired differences (bootstrap).

The unit of repetition is the server start. Within one start requests share a batch, a cache and a
queue; an interval over requests is too narrow (measured in the field: "± 5.6" around a value that
was a third off). So means are taken per start first, and the interval is over the starts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seatrial.core.seeds import stream
from seatrial.stats.interval import Interval


def t_quantile(df: float | NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """The p-quantile of Student's t with ``df`` degrees of freedom; element by element."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, p), dtype=np.float64)


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean over starts with Student's t interval, in the unit of the values.

    With one start the interval is infinite: one start says nothing about the next.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.size == 0:
        raise ValueError("no values")
    best = float(x.mean())
    half = float("inf")
    if x.size > 1:
        half = float(t_quantile(x.size - 1, (1 + confidence) / 2)) * float(x.std(ddof=1))
        half /= float(np.sqrt(x.size))
    return Interval(
        low=best - half,
        best=best,
        high=best + half,
        n=int(x.size),
        confidence=confidence,
        method="t over starts",
    )


def prediction_bound(values: ArrayLike, confidence: float = 0.95) -> float:
    """One-sided upper bound for the value of the next start (normal theory, unit of the values).

    mean + t(n-1) s sqrt(1 + 1/n) (Hahn and Meeker, Statistical Intervals, 1991, section 4.7).
    """
    x = np.asarray(values, dtype=np.float64)
    if x.size < 2:
        return float("inf")
    t = float(t_quantile(x.size - 1, confidence))
    return float(x.mean() + t * x.std(ddof=1) * np.sqrt(1 + 1 / x.size))


def bootstrap_mean(
    values: ArrayLike, *, seed: int, confidence: float = 0.95, draws: int = 4000
) -> Interval:
    """Percentile bootstrap of the mean of independent values, e.g. paired differences per item.

    Same seed, same interval. Needs values that are independent of each other (prompts of a
    quality check answered one at a time), not requests that queue behind each other.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.size == 0:
        raise ValueError("no values")
    rng = stream(seed, "bootstrap")
    step = max(1, 4_000_000 // x.size)
    means = np.concatenate(
        [
            x[rng.integers(0, x.size, size=(min(step, draws - at), x.size))].mean(axis=1)
            for at in range(0, draws, step)
        ]
    )
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(
        low=float(low),
        best=float(x.mean()),
        high=float(high),
        n=int(x.size),
        confidence=confidence,
        method="bootstrap",
    )
