"""Which metrics rank the candidates, fixed before the trial.

Online: goodput (the share of requests that meet every SLO), then the SLO latency with the least
headroom. Offline: output tokens per second. docs/method/decision.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from seatrial.plan.record import Objective
from seatrial.workload.spec import Slo, Workload

GOODPUT = Objective(metric="goodput", log=False, higher_is_better=True)
THROUGHPUT = Objective(metric="output_tokens_per_s", log=True, higher_is_better=True)
DEFAULT_LATENCY = Objective(metric="e2e_ms.p95", log=True, higher_is_better=False)
LATENCIES = ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms")


def chain(spec: Workload) -> list[Objective]:
    """The links that are known before any data."""
    if spec.mode == "offline":
        return [THROUGHPUT]
    return [GOODPUT] if _has_request_slo(spec.slo) else []


def latency_choices(spec: Workload) -> list[Objective]:
    """Candidates for the last link of an online chain; never empty for one."""
    if spec.mode == "offline":
        return []
    found = [
        Objective(metric=f"{name}.{key}", log=True, higher_is_better=False, limit=float(limit))
        for name in LATENCIES
        for key, limit in sorted((getattr(spec.slo, name) or {}).items())
    ]
    return found or [DEFAULT_LATENCY]


def least_headroom(
    choices: Sequence[Objective], first_starts: Mapping[str, Mapping[str, float]]
) -> Objective | None:
    """The choice whose values stand closest to (or furthest beyond) their limit.

    Args:
        first_starts: candidate -> metric -> value in that candidate's first valid start. All
            candidates count alike, so the choice favours none of them.

    None while no choice has a value in every candidate.
    """
    best: tuple[float, Objective] | None = None
    for choice in choices:
        values = [values.get(choice.metric, math.nan) for values in first_starts.values()]
        if not values or not all(math.isfinite(v) and v > 0 for v in values):
            continue
        use = sum(math.log(v / (choice.limit or 1.0)) for v in values) / len(values)
        if best is None or use > best[0]:
            best = (use, choice)
    return best[1] if best else None


def _has_request_slo(slo: Slo) -> bool:
    return slo.goodput is not None or any(getattr(slo, name) for name in LATENCIES)
