"""From records to the numbers of a cell: counts, percentiles with intervals, goodput."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from seatrial.bench.cell import Counts, Summary
from seatrial.loadgen.metrics import (
    E2e,
    Floats,
    Fluidity,
    Itl,
    ItlPerToken,
    Metric,
    NormalisedLatency,
    Tpot,
    Ttft,
    TtftReasoning,
    TtftText,
    Ttst,
)
from seatrial.loadgen.records import Records
from seatrial.stats.interval import Interval
from seatrial.stats.percentile import percentile_interval
from seatrial.workload.spec import Slo, request_limit

_NAMES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_SLO_METRICS: dict[str, type[Metric]] = {
    "ttft_ms": Ttft,
    "tpot_ms": Tpot,
    "itl_ms": Itl,
    "e2e_ms": E2e,
}


def counts(records: Records) -> Counts:
    """Requests by what became of them; they add up to offered."""
    return Counts(offered=records.n, **records.counts())


def summary(values: Floats) -> Summary:
    """Mean and percentiles of a latency, in its unit, with order-statistic intervals."""
    if not len(values):
        return Summary(mean=None, p50=None, p90=None, p95=None, p99=None, n=0)
    points = {name: float(np.quantile(values, q)) for name, q in _NAMES.items()}
    intervals: dict[str, Interval] = {}
    for name, q in _NAMES.items():
        found = percentile_interval(values, q)
        if found is not None:
            intervals[name] = found
    return Summary(mean=float(values.mean()), n=len(values), intervals=intervals, **points)


def by_length(records: Records, parts: int = 4) -> list[dict[str, Any]]:
    """TTFT and E2E by quarter of input length and of output length.

    What short requests suffer behind long ones shows here and in no overall percentile. Each
    item: kind (input, output), from, to (tokens, inclusive), n, ttft_ms and e2e_ms {p50, p99}.
    """
    found = []
    for kind in ("input", "output"):
        lengths = records.ints[f"{kind}_tokens"]
        known = records.completed & (lengths >= 0)
        if known.sum() < 2 * parts:
            continue
        edges = np.unique(np.quantile(lengths[known], np.linspace(0, 1, parts + 1)))
        for low, high in pairwise(edges):
            top = high == edges[-1]
            inside = known & (lengths >= low) & ((lengths <= high) if top else (lengths < high))
            if inside.any():
                found.append(_class(records, kind, lengths, inside))
    return found


def _class(records: Records, kind: str, lengths: np.ndarray, inside: np.ndarray) -> dict[str, Any]:
    item: dict[str, Any] = {
        "kind": kind,
        "from": int(lengths[inside].min()),
        "to": int(lengths[inside].max()),
        "n": int(inside.sum()),
    }
    for metric in (Ttft, E2e):
        values = metric.of_each(records)[inside]
        values = values[~np.isnan(values)]
        points = {"p50": 0.5, "p99": 0.99}
        item[metric.name] = {
            name: float(np.quantile(values, q)) if len(values) else None
            for name, q in points.items()
        }
    return item


def more(records: Records) -> dict[str, Summary]:
    """The metrics that have no place of their own in a cell; empty ones are left out."""
    kinds = (Ttst, TtftText, TtftReasoning, ItlPerToken, NormalisedLatency)
    found = {kind.name: summary(kind.values(records)) for kind in kinds}
    return {name: value for name, value in found.items() if value.n}


def fluidity(records: Records, slo: Slo) -> float | None:
    """Mean fluidity over the requests; None unless the SLO has TTFT and ITL (or TPOT) targets."""
    itl = slo.itl_ms or slo.tpot_ms
    if not slo.ttft_ms or not itl:
        return None
    values = Fluidity.of_targets(records, max(slo.ttft_ms.values()), max(itl.values()))
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else None


def meets_slo(records: Records, slo: Slo) -> np.ndarray:
    """Which requests meet every latency SLO; what did not complete meets none.

    The limit is the workload's ``request_limit``. Of a request's gaps the largest counts for ITL.
    """
    good = records.completed.copy()
    for name, metric in _SLO_METRICS.items():
        limit = request_limit(getattr(slo, name))
        if limit is None:
            continue
        values = metric.of_each(records)
        good &= ~(values > limit)
        if name == "ttft_ms":
            good &= ~np.isnan(values)
    return good


def goodput(records: Records, slo: Slo) -> float | None:
    """Share of offered requests that meet every SLO; None without requests or without SLO.

    Requests cancelled by plan or still in flight when the window ended are left out: nobody
    waited for their end.
    """
    asked = any(getattr(slo, name) for name in _SLO_METRICS)
    counted = ~(records.is_status("cancelled") | records.is_status("in_flight"))
    if not counted.any() or not asked:
        return None
    return float(meets_slo(records, slo)[counted].mean())


def failure_rate(records: Records) -> float | None:
    """(failed + timed out + cut) / (offered - cancelled - in flight)."""
    n = records.counts()
    counted = records.n - n["cancelled"] - n["in_flight"]
    if counted <= 0:
        return None
    return (n["failed"] + n["timed_out"] + n["cut"]) / counted
