"""Is one trace like another? Two-sample tests and ratios, each with its tolerance.

Lengths and gaps are compared with the two-sample Kolmogorov-Smirnov test (Smirnov, 1948; the
asymptotic p-value). A p-value alone would call any two long traces different, so what is judged
is the distance itself against a stated tolerance; the p-value stands beside it.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from seatrial.trace import RequestTable
from seatrial.trace.table import Ints
from seatrial.workload.fingerprint import fingerprint
from seatrial.workload.lengths import known
from seatrial.workload.profile import Fingerprint

KS_TOLERANCE = 0.05
RATE_TOLERANCE = 0.10
DISPERSION_TOLERANCE = 0.50
HIT_TOLERANCE = 0.05


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison.

    Attributes:
        name: of the quantity. kind: ``ks`` (distance of distributions), ``ratio`` (made over
            source, tolerance is of ratio - 1), ``difference``.
        source, made: the value in each (medians for ``ks``).
        value: distance, ratio or difference. p: of the test, where there is one.
    """

    name: str
    kind: str
    source: float
    made: float
    value: float
    tolerance: float
    p: float | None
    ok: bool


def ks(x: Ints, y: Ints) -> tuple[float, float]:
    """(largest distance of the two empirical distribution functions, asymptotic p-value)."""
    far = distance(np.sort(x), np.sort(y))
    size = len(x) * len(y) / (len(x) + len(y))
    return far, kolmogorov(math.sqrt(size) * far)


def distance(a: Ints, b: Ints) -> float:
    """Largest distance of the empirical distribution functions of two sorted samples.

    It is reached at a value of the smaller sample, or just below one.
    """
    if len(a) > len(b):
        a, b = b, a
    at = np.searchsorted(a, a, "right") / len(a) - np.searchsorted(b, a, "right") / len(b)
    below = np.searchsorted(a, a, "left") / len(a) - np.searchsorted(b, a, "left") / len(b)
    return float(max(np.abs(at).max(), np.abs(below).max()))


def kolmogorov(z: float) -> float:
    """P(K > z) of the Kolmogorov distribution: 2 sum (-1)^(k-1) exp(-2 k^2 z^2)."""
    if z < 0.2:
        return 1.0
    total: float = 2 * sum((-1.0) ** (k - 1) * math.exp(-2 * k * k * z * z) for k in range(1, 101))
    return min(1.0, max(0.0, total))


def compare(source: RequestTable, made: RequestTable) -> list[Check]:
    """Every quantity that both traces have."""
    checks = []
    for name, a, b in (
        ("input tokens", known(source.input_tokens), known(made.input_tokens)),
        ("output tokens", known(source.output_tokens), known(made.output_tokens)),
        ("gaps between arrivals", _gaps(source), _gaps(made)),
    ):
        if a is not None and b is not None and len(a) and len(b):
            checks.append(_ks_check(name, a, b))
    return checks + _numbers(fingerprint(source), fingerprint(made))


def _gaps(table: RequestTable) -> Ints | None:
    return None if table.arrival_ns is None or table.n < 2 else np.diff(table.arrival_ns)


def _ks_check(name: str, a: Ints, b: Ints) -> Check:
    far, p = ks(a, b)
    return Check(
        name=name,
        kind="ks",
        source=float(np.median(a)),
        made=float(np.median(b)),
        value=far,
        tolerance=KS_TOLERANCE,
        p=p,
        ok=far <= KS_TOLERANCE,
    )


def _numbers(a: Fingerprint, b: Fingerprint) -> list[Check]:
    checks = []
    if a.arrivals is not None and b.arrivals is not None:
        checks.append(_ratio("rate", a.arrivals.rate_per_s, b.arrivals.rate_per_s, RATE_TOLERANCE))
        for scale in ("1s", "10s", "60s"):
            x = a.arrivals.dispersion_full_bins.get(scale)
            y = b.arrivals.dispersion_full_bins.get(scale)
            if x and y:
                checks.append(_ratio(f"dispersion at {scale}", x, y, DISPERSION_TOLERANCE))
    if a.prefix is not None and b.prefix is not None:
        checks.append(_difference("token hit", a.prefix.token_hit, b.prefix.token_hit))
        for capacity in a.prefix.lru:
            if capacity in b.prefix.lru and int(capacity) <= a.prefix.unique_blocks:
                x, y = a.prefix.lru[capacity], b.prefix.lru[capacity]
                checks.append(_difference(f"LRU hit at {int(capacity):,} blocks", x, y))
    if a.sessions is not None and b.sessions is not None:
        x, y = a.sessions.turns_mean, b.sessions.turns_mean
        checks.append(_ratio("turns per session", x, y, RATE_TOLERANCE))
    return checks


def _ratio(name: str, source: float, made: float, tolerance: float) -> Check:
    ratio = made / source
    return Check(
        name=name,
        kind="ratio",
        source=source,
        made=made,
        value=ratio,
        tolerance=tolerance,
        p=None,
        ok=abs(ratio - 1) <= tolerance,
    )


def _difference(name: str, source: float, made: float) -> Check:
    return Check(
        name=name,
        kind="difference",
        source=source,
        made=made,
        value=made - source,
        tolerance=HIT_TOLERANCE,
        p=None,
        ok=abs(made - source) <= HIT_TOLERANCE,
    )
