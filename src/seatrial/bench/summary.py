"""From records to the numbers of a cell: counts, percentiles with intervals, goodput."""

from __future__ import annotations

import numpy as np

from seatrial.bench.cell import Counts, Summary
from seatrial.loadgen.metrics import E2e, Floats, Itl, Metric, Tpot, Ttft
from seatrial.loadgen.records import Records
from seatrial.stats.interval import Interval
from seatrial.stats.percentile import percentile_interval
from seatrial.workload.spec import Slo

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


def meets_slo(records: Records, slo: Slo) -> np.ndarray:
    """Which requests meet every latency SLO; what did not complete meets none.

    A request's own value is held against the loosest percentile asked for that metric: p95 <= 500
    means that a request above 500 ms is one of the five in a hundred that may be. Of a request's
    gaps the largest counts for ITL.
    """
    good = records.completed.copy()
    for name, metric in _SLO_METRICS.items():
        wanted = getattr(slo, name)
        if not wanted:
            continue
        limits = [v for k, v in wanted.items() if k != "mean"] or list(wanted.values())
        values = metric.of_each(records)
        good &= ~(values > max(limits))
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
