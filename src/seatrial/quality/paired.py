"""Two artefacts on the same tasks: who lost what, and is the loss within the margin?

Only tasks on which the two differ say anything (McNemar, Psychometrika 12, 1947). With b tasks
that only the reference solved and c that only the candidate solved:

* p: exact two-sided binomial test of b against c;
* the difference of the two shares with Newcombe's interval for paired proportions (Statistics in
  Medicine 17, 1998, method 10): it stays honest when nothing differs, where a bootstrap would
  claim certainty.
"""

from __future__ import annotations

import math

import msgspec

from seatrial.stats.interval import Interval

_Z95 = 1.959963984540054


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a paired comparison: both right, only one, neither; ``difference`` is the
    candidate's share minus the reference's; ``p`` is McNemar's exact two-sided value."""

    both: int
    only_reference: int
    only_candidate: int
    neither: int
    difference: Interval
    p: float


def paired(reference: list[bool], candidate: list[bool]) -> Paired:
    """Compare two lists of right and wrong over the same tasks, in the same order."""
    if len(reference) != len(candidate) or not reference:
        raise ValueError("two lists of the same tasks, at least one")
    pairs = list(zip(reference, candidate, strict=True))
    a, b = pairs.count((True, True)), pairs.count((True, False))
    c, d = pairs.count((False, True)), pairs.count((False, False))
    return Paired(
        both=a,
        only_reference=b,
        only_candidate=c,
        neither=d,
        difference=newcombe(a, b, c, d),
        p=mcnemar(b, c),
    )


def mcnemar(b: int, c: int) -> float:
    """Exact two-sided p of b against c: 2 P(X <= min(b, c)), X ~ Bin(b + c, 1/2), at most 1."""
    n, k = b + c, min(b, c)
    if n == 0:
        return 1.0
    return min(1.0, 2.0 * sum(math.comb(n, i) for i in range(k + 1)) / 2.0**n)


def newcombe(a: int, b: int, c: int, d: int) -> Interval:
    """Candidate's share (a + c) / n minus the reference's (a + b) / n, 95 % interval."""
    n = a + b + c + d
    p1, p2 = (a + c) / n, (a + b) / n
    l1, u1 = _wilson(a + c, n)
    l2, u2 = _wilson(a + b, n)
    phi = _phi(a, b, c, d)
    best = p1 - p2
    low = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    high = (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    return Interval(
        low=best - math.sqrt(max(low, 0.0)),
        best=best,
        high=best + math.sqrt(max(high, 0.0)),
        n=n,
        confidence=0.95,
        method="newcombe paired",
    )


def _wilson(k: int, n: int) -> tuple[float, float]:
    """Wilson's score interval (JASA 22, 1927) of k in n at 95 %."""
    p, z2 = k / n, _Z95**2
    middle = p + z2 / (2 * n)
    half = _Z95 * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)


def _phi(a: int, b: int, c: int, d: int) -> float:
    """The correlation of the pairs with Newcombe's continuity correction."""
    product = (a + b) * (c + d) * (a + c) * (b + d)
    if product == 0:
        return 0.0
    n, cross = a + b + c + d, a * d - b * c
    corrected = max(cross - n / 2, 0.0) if cross > 0 else cross
    return corrected / math.sqrt(product)
