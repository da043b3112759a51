"""Percentiles of raw values, each with an interval that assumes no distribution.

The estimate is numpy's linear rule (Hyndman and Fan, Am. Stat. 50, 1996, type 7): what vLLM's,
SGLang's and GuideLLM's clients print, so numbers can be compared. The interval is between two
order statistics: the number of values below the true q-quantile is binomial(n, q), whatever the
distribution (David and Nagaraja, Order Statistics, 2003, section 7.1). It needs independent
values; requests of one run under load are not quite that, so a claim about a *candidate* is never
made from it: claims are made over server starts (``compare``).

Too few values give no interval (p95 needs 59 for a one-sided 95 % bound, p99 needs 299): the
bound that cannot be given is None, never the extreme value in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from seatrial.stats.interval import Interval

QS: dict[str, float] = {
    "p50": 0.5,
    "p75": 0.75,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p999": 0.999,
}


class Ranks(msgspec.Struct, frozen=True, kw_only=True):
    """1-based ranks of the order statistics around a quantile; None where n is too small."""

    low: int | None
    high: int | None


def percentile(values: ArrayLike, q: float) -> float:
    """The q-quantile (0 <= q <= 1) by the linear rule; NaN for no values, inf is allowed.

    A value of infinity stands for a request that never got its answer: a quantile that falls on
    or beyond one is infinite.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if ordered.size == 0:
        return float("nan")
    if np.isnan(ordered[-1]):
        raise ValueError("NaN among the values; leave them out and say how many")
    place = q * (ordered.size - 1)
    below = int(np.floor(place))
    share = place - below
    if share == 0.0 or ordered[below] == ordered[min(below + 1, ordered.size - 1)]:
        return float(ordered[below])
    return float(ordered[below] * (1 - share) + ordered[below + 1] * share)


def order_statistic_ranks(n: int, q: float, confidence: float = 0.95) -> Ranks:
    """Ranks l, u with P(X_(l) <= quantile) and P(quantile <= X_(u)) each >= (1 + confidence)/2."""
    from scipy.special import bdtr

    if n <= 0:
        return Ranks(low=None, high=None)
    alpha = (1 - confidence) / 2
    # Ten standard deviations hold both ranks, unless the confidence is beyond all use.
    reach = int(10 * (n * q * (1 - q)) ** 0.5) + 50
    first, last = max(0, int(n * q) - reach), min(n, int(n * q) + reach)
    below = bdtr(np.arange(first, last + 1, dtype=np.float64), n, q)  # P(B <= k)
    if (first and below[0] > alpha) or (last < n and below[-1] < 1 - alpha):
        first, below = 0, bdtr(np.arange(n + 1, dtype=np.float64), n, q)
    # X_(l) is above the quantile when at most l - 1 values are below it.
    low = first + int(np.searchsorted(below, alpha, side="right"))
    # X_(u) is below the quantile when at least u values are below it.
    high = first + int(np.searchsorted(below, 1 - alpha, side="left")) + 1
    return Ranks(low=low if low >= 1 else None, high=high if high <= n else None)


def percentile_interval(values: ArrayLike, q: float, confidence: float = 0.95) -> Interval | None:
    """The q-quantile with its order-statistic interval, in the unit of the values.

    None when there are too few values for both bounds.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    ranks = order_statistic_ranks(ordered.size, q, confidence)
    if ranks.low is None or ranks.high is None:
        return None
    return Interval(
        low=float(ordered[ranks.low - 1]),
        best=percentile(ordered, q),
        high=float(ordered[ranks.high - 1]),
        n=int(ordered.size),
        confidence=confidence,
        method="order-statistic",
    )


def values_needed(q: float, confidence: float = 0.95) -> int:
    """The smallest n for which the two-sided order-statistic interval of q exists."""
    alpha = (1 - confidence) / 2
    edge = max(q, 1 - q)
    return int(np.ceil(np.log(alpha) / np.log(edge)))


def percentiles(
    values: ArrayLike, names: Sequence[str] = ("p50", "p90", "p95", "p99")
) -> NDArray[np.float64]:
    """Several named percentiles (``QS``) of one array, in the order of ``names``."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return np.array([percentile(ordered, QS[name]) for name in names])
