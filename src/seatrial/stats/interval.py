"""One number with its interval: nothing is reported without both."""

from __future__ import annotations

import msgspec


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate and the interval around it.

    Attributes:
        low, best, high: in the unit of the quantity.
        n: number of independent observations behind it.
        confidence: e.g. 0.95.
        method: how it was made, e.g. ``clopper-pearson``, ``order-statistic``, ``t over starts``.
    """

    low: float
    best: float
    high: float
    n: int
    confidence: float
    method: str


def proportion_interval(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Exact (Clopper and Pearson, Biometrika 26, 1934) interval of a share of k in n.

    With n = 0 nothing is known: [0, 1].
    """
    if not 0 <= k <= n:
        raise ValueError(f"k={k} of n={n}")
    if n == 0:
        return Interval(
            low=0.0,
            best=float("nan"),
            high=1.0,
            n=0,
            confidence=confidence,
            method="clopper-pearson",
        )
    from scipy.special import betaincinv

    alpha = 1.0 - confidence
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, alpha / 2))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - alpha / 2))
    return Interval(
        low=low, best=k / n, high=high, n=n, confidence=confidence, method="clopper-pearson"
    )
