"""SLOs as constraints: met, missed, or not shown either way.

"p95 of TTFT at most 500 ms" is the same as "at least 95 % of requests within 500 ms", and in that
form a request that failed simply is not within. The share is taken per start; its interval covers
both kinds of chance: between starts (Student's t) and within (exact binomial over all requests),
whichever is wider. A percentile SLO is met only when the interval says so at one-sided 95 %.

An error rate of 1 in 1000 cannot be proven with a few hundred requests: it counts as met when the
observed share is within the limit (its upper bound is stated), missed when the interval is above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from seatrial.decide.record import SloCheck
from seatrial.decide.requests import (
    LATENCY_COLUMNS,
    Columns,
    completed,
    latency_ms,
    latency_value,
    offered,
    output_tokens_per_s,
)
from seatrial.stats.interval import Interval, proportion_interval
from seatrial.stats.mean import mean_interval
from seatrial.stats.percentile import QS
from seatrial.workload.spec import Workload

CONFIDENCE = 0.90  # two-sided, so 95 % on the side that matters


def check_slos(
    candidate: str,
    starts: Sequence[Columns],
    spec: Workload,
    values: Sequence[Mapping[str, float]],
) -> list[SloCheck]:
    """Every SLO of the workload upon one candidate, from the requests of its valid starts.

    Args:
        values: metric -> value of each start, parallel to ``starts``.
    """
    slo, checks = spec.slo, []
    if not starts:
        return []
    for name in LATENCY_COLUMNS:
        for key, limit in sorted((getattr(slo, name) or {}).items()):
            checks.append(_latency(candidate, f"{name}.{key}", float(limit), starts))
    for key, limit in sorted((slo.itl_ms or {}).items()):
        metric = f"itl_ms.{key}"
        found = [v.get(metric, np.nan) for v in values]
        checks.append(_mean(candidate, metric, float(limit), found, -1))
    if slo.error_rate is not None:
        checks.append(_error_rate(candidate, slo.error_rate, starts))
    if slo.goodput is not None:
        shares = [v["goodput"] for v in values]
        n = int(sum(offered(c).sum() for c in starts))
        checks.append(_share(candidate, "goodput", slo.goodput, slo.goodput, shares, n, None))
    if slo.output_tokens_per_s is not None:
        rates = [output_tokens_per_s(c) for c in starts]
        checks.append(_mean(candidate, "output_tokens_per_s", slo.output_tokens_per_s, rates, 1))
    if slo.deadline_s is not None:
        spans = [_span_s(c) for c in starts]
        checks.append(_mean(candidate, "deadline_s", slo.deadline_s, spans, -1))
    return checks


def _latency(candidate: str, slo: str, limit: float, starts: Sequence[Columns]) -> SloCheck:
    name, _, key = slo.partition(".")
    per_start = [latency_ms(c, name) for c in starts]
    if key == "mean":
        means = [
            float(np.mean(v[np.isfinite(v)])) if np.isfinite(v).any() else np.inf for v in per_start
        ]
        return _mean(candidate, slo, limit, means, -1)
    q = 1.0 if key == "max" else QS[key]
    shares = [float((v <= limit).mean()) for v in per_start if v.size]
    values = [latency_value(v, key) for v in per_start if v.size]
    value = float(np.median(values)) if values else np.nan
    n = sum(v.size for v in per_start)
    return _share(candidate, slo, limit, q, shares, n, value)


def _share(
    candidate: str,
    slo: str,
    limit: float,
    needed: float,
    shares: Sequence[float],
    n: int,
    value: float | None,
) -> SloCheck:
    if not shares:
        return _unknown(candidate, slo, limit, needed)
    attained = share_interval(shares, n)
    if attained.low >= needed or (needed == 1.0 and attained.best == 1.0):
        verdict = "met"
    elif attained.high < needed:
        verdict = "missed"
    else:
        verdict = "unproven"
    says = (
        f"{attained.best:.1%} of requests within it"
        f" (interval {attained.low:.1%} to {attained.high:.1%}), {needed:.1%} needed"
    )
    return SloCheck(
        candidate=candidate,
        slo=slo,
        limit=limit,
        value=_finite(value if value is not None else attained.best),
        attained=attained,
        needed=needed,
        verdict=verdict,  # type: ignore[arg-type]
        says=says,
    )


def share_interval(shares: Sequence[float], n: int) -> Interval:
    """A share with an interval as wide as the wider of "between starts" and "binomial over all".

    One start alone shows nothing of the next: [0, 1].
    """
    between = mean_interval(shares, CONFIDENCE)
    within = proportion_interval(round(between.best * n), n, CONFIDENCE)
    return Interval(
        low=max(0.0, min(within.low, between.low)),
        best=between.best,
        high=min(1.0, max(within.high, between.high)),
        n=n,
        confidence=CONFIDENCE,
        method="wider of t over starts and exact binomial over requests",
    )


def _mean(candidate: str, slo: str, limit: float, values: Sequence[float], sense: int) -> SloCheck:
    """A limit on a mean over starts; ``sense`` +1 when more is better."""
    if not np.isfinite(values).all() or len(values) < 2:
        never = sense < 0 and len(values) > 1 and all(v == np.inf for v in values)
        return _unknown(candidate, slo, limit, limit, missed=never)
    found = mean_interval(values, CONFIDENCE)
    low, high = (found.low, found.high) if sense > 0 else (-found.high, -found.low)
    verdict = "met" if low >= sense * limit else "missed" if high < sense * limit else "unproven"
    return SloCheck(
        candidate=candidate,
        slo=slo,
        limit=limit,
        value=found.best,
        attained=found,
        needed=limit,
        verdict=verdict,  # type: ignore[arg-type]
        says=f"{found.best:.4g} (interval {found.low:.4g} to {found.high:.4g}), limit {limit:.4g}",
    )


def _error_rate(candidate: str, limit: float, starts: Sequence[Columns]) -> SloCheck:
    n = int(sum(offered(c).sum() for c in starts))
    bad = n - int(sum((completed(c) & offered(c)).sum() for c in starts))
    found = proportion_interval(bad, n, CONFIDENCE)
    seen = bad / n if n else 1.0
    return SloCheck(
        candidate=candidate,
        slo="error_rate",
        limit=limit,
        value=bad / n if n else None,
        attained=found,
        needed=limit,
        verdict="missed" if found.low > limit else "met" if seen <= limit else "unproven",
        says=f"{bad} of {n} requests failed; the true rate is at most {found.high:.2%}"
        f" (limit {limit:.2%})",
    )


def _unknown(
    candidate: str, slo: str, limit: float, needed: float, *, missed: bool = False
) -> SloCheck:
    return SloCheck(
        candidate=candidate,
        slo=slo,
        limit=limit,
        value=None,
        attained=None,
        needed=needed,
        verdict="missed" if missed else "unproven",
        says="not finished in any start" if missed else "too few starts gave a value",
    )


def _span_s(columns: Columns) -> float:
    done = completed(columns)
    if not done.all():
        return float("inf")  # work that was not done has not met its deadline
    return float(columns["done_ns"].max() - columns["scheduled_ns"].min()) / 1e9


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
