"""Requests in flight: exactly where latencies are logged, else by Little's law.

Little's law (Little, Operations Research 9, 1961): the mean number in flight is the arrival rate
times the mean time that a request stays. Where the log has that time, the law checks the exact
count. Where it has not, the time that a request would take *alone* on the reference device stands
in for it: arithmetic on traffic and device, without waiting, batching or prefix hits, and no
measurement. The fingerprint says which it is.
"""

from __future__ import annotations

import numpy as np

from seatrial.core.units import NS_PER_S
from seatrial.trace import RequestTable
from seatrial.trace.table import Ints
from seatrial.workload.arrivals import SHOWN_MINUTES
from seatrial.workload.lengths import Floats
from seatrial.workload.pressure import WINDOW_S, Reference, Windows, alone_s
from seatrial.workload.profile import Arrivals, Concurrency, LittleConcurrency

_MINUTE_NS = 60 * NS_PER_S


def concurrency(table: RequestTable) -> Concurrency | None:
    """Requests in flight over time, exactly; None unless arrivals and latencies are logged."""
    if table.arrival_ns is None or table.e2e_ns is None:
        return None
    there = table.e2e_ns >= 0
    if not there.any():
        return None
    start = table.arrival_ns[there]
    end = start + table.e2e_ns[there]
    times = np.concatenate((start, end))
    steps = np.concatenate((np.ones(len(start), np.int64), np.full(len(end), -1, np.int64)))
    order = np.lexsort((steps, times))
    times, level = times[order], np.cumsum(steps[order])
    held = np.diff(times, append=times[-1:])
    span = int(held.sum())
    if span == 0:
        return None
    by_level = np.argsort(level, kind="stable")
    share = np.cumsum(held[by_level]) / span
    at = min(int(np.searchsorted(share, 0.99)), len(level) - 1)
    return Concurrency(
        mean=float((level * held).sum() / span),
        max=int(level.max()),
        p99=float(level[by_level][at]),
        per_minute=_per_minute(times, level, held, int(table.arrival_ns[-1])),
    )


def _per_minute(times: Ints, level: Ints, held: Ints, last: int) -> list[float] | None:
    """Mean in flight in each minute from the first arrival to the last one's.

    Each minute counts the time of it that lies before the last answer's end.
    """
    bins = last // _MINUTE_NS + 1
    if bins > SHOWN_MINUTES:
        return None
    area = np.concatenate(([0.0], np.cumsum(level[:-1].astype(np.float64) * held[:-1])))
    edges = np.minimum(np.arange(bins + 1) * _MINUTE_NS, times[-1])
    width = np.diff(edges)
    spent = np.diff(np.interp(edges, times, area))
    return [float(a / w) if w else 0.0 for a, w in zip(spent, width, strict=True)]


def logged(table: RequestTable, when: Arrivals | None) -> LittleConcurrency | None:
    """The law on the log's own latencies; None unless every figure of it is logged."""
    if when is None or table.e2e_ns is None:
        return None
    there = table.e2e_ns >= 0
    if not there.any():
        return None
    stay = float(table.e2e_ns[there].mean()) / NS_PER_S
    rate = when.rate_per_s * float(there.mean())
    return LittleConcurrency(
        basis="logged_latency", stay_s=stay, mean=rate * stay, per_minute=None, reference=None
    )


def alone(
    sums: Windows | None, when: Arrivals | None, reference: Reference
) -> LittleConcurrency | None:
    """The law on what each request would take alone on the reference; None without lengths."""
    if sums is None or when is None:
        return None
    spent = alone_s(sums, reference)
    stay = float(spent.sum()) / sums.requests
    return LittleConcurrency(
        basis="alone_on_reference",
        stay_s=stay,
        mean=when.rate_per_s * stay,
        per_minute=_arriving(sums, spent),
        reference=reference.name,
    )


def _arriving(sums: Windows, spent: Floats) -> list[float] | None:
    """Per minute of arrival: seconds of service that arrive in it, per second of it."""
    per = 60 // WINDOW_S
    bins = int(sums.span_s // 60) + 1
    if bins > SHOWN_MINUTES:
        return None
    total = np.bincount(sums.place // per, weights=spent, minlength=bins)
    width = np.full(len(total), 60.0)
    width[bins - 1] = max(sums.span_s - 60.0 * (bins - 1), float(WINDOW_S))
    return [float(x) for x in total / width]
