"""From a partial fingerprint (of all parts) to the same record that a table in memory gives."""

from __future__ import annotations

import numpy as np

from seatrial.core.units import NS_PER_S
from seatrial.trace.table import SourceFile
from seatrial.workload import pressure as press
from seatrial.workload.arrivals import SCALES_S, SHOWN_MINUTES, Grain, dispersion, pause_limit
from seatrial.workload.concurrency import alone
from seatrial.workload.partial import Gaps, Histogram, Partial, log_value
from seatrial.workload.profile import (
    SCHEMA,
    Arrivals,
    Distribution,
    Drift,
    File,
    Fingerprint,
    Joint,
    Refused,
    RowCount,
)

SKETCHED = "percentiles of gaps between arrivals are read off bins 0.1 % wide; all else is exact"


def finish(
    whole: Partial,
    *,
    format_id: str,
    grain_ns: int,
    files: list[SourceFile],
    refused: list[Refused],
    missing: list[str],
    notes: list[str],
    drift: Drift,
    reference: press.Reference | None = None,
) -> Fingerprint:
    """The fingerprint. Sections that need more than sums (prefixes, sessions) are null."""
    reference = reference or press.Reference()
    inputs, outputs = whole.inputs.distribution(), whole.outputs.distribution()
    when = arrivals_of(whole, grain_ns)
    span = None
    if whole.first_ns is not None and whole.last_ns is not None:
        span = (whole.last_ns - whole.first_ns) / NS_PER_S
    said = [*notes, SKETCHED] if when is not None and when.interarrival_s is not None else notes
    return Fingerprint(
        schema=SCHEMA,
        format=format_id,
        requests=whole.n,
        span_s=span,
        input_tokens=inputs,
        output_tokens=outputs,
        input_output_ratio=inputs.sum / outputs.sum if inputs and outputs and outputs.sum else None,
        lengths=_joint(whole, inputs, outputs),
        arrivals=when,
        prefix=None,
        sessions=None,
        concurrency=None,
        concurrency_little=alone(whole.windows, when, reference),
        clients=None,
        features={},
        skew={},
        input_chars=None,
        output_chars=None,
        estimated=[],
        ttft_ms=None,
        e2e_ms=None,
        drift=drift,
        pressure=press.pressure(whole.windows, when, None, reference, 0.0),
        missing=missing,
        notes=said,
        rows=RowCount(read=whole.n, bad=whole.bad, first_bad=refused),
        files=[File(name=f.name, sha256=f.sha256, rows=f.rows, bad=f.bad) for f in files],
    )


def arrivals_of(whole: Partial, grain_ns: int) -> Arrivals | None:
    """Arrivals from counts per second and from the gaps' sums; None of fewer than two."""
    if whole.first_ns is None or whole.last_ns is None or whole.first_ns == whole.last_ns:
        return None
    span = whole.last_ns - whole.first_ns
    gaps, n = whole.gaps, whole.n
    grain = Grain(max(grain_ns, 1), _batches(gaps) if gaps is not None else 1)
    fine = gaps is not None and grain.ns <= span / (n - 1)
    spread = {
        f"{s}s": _dispersions(whole.seconds, s, grain, n, (span, whole.last_ns)) for s in SCALES_S
    }
    naive = None if gaps is None else _cv(gaps)
    minute = _binned(whole.seconds, 60)
    bins = whole.last_ns // (60 * NS_PER_S) + 1  # the first arrival lies in second 0
    mean = n / bins
    last = int(minute.counts[-1]) if int(minute.values[-1]) == bins - 1 else 0
    full = minute.counts[:-1] if last else minute.counts
    return Arrivals(
        rate_per_s=n / (span / NS_PER_S),
        cv_interarrival=naive if fine else None,
        cv_interarrival_naive=naive,
        grain_s=grain.ns / NS_PER_S,
        dispersion={name: pair[0] for name, pair in spread.items()},
        dispersion_full_bins={name: pair[1] for name, pair in spread.items()},
        peak_per_second=int(whole.seconds.counts.max()) if grain.ns <= NS_PER_S else None,
        peak_per_minute=int(minute.counts.max()),
        mean_per_minute=mean,
        peak_to_mean_minute=int(minute.counts.max()) / mean,
        peak_to_mean_minute_full_bins=(
            int(full.max()) / ((n - last) / (bins - 1)) if bins > 1 and len(full) else None
        ),
        interarrival_s=_gap_distribution(gaps) if fine and gaps is not None else None,
        share_zero_interarrival=gaps.zeros / gaps.n if fine and gaps is not None else None,
        distinct_timestamps=None if gaps is None else gaps.n - gaps.zeros + 1,
        on_share=None if gaps is None else _on_share(gaps, n, span),
        per_minute=_dense(minute, bins) if bins <= SHOWN_MINUTES else None,
        per_hour_of_day=None,
        per_hour_of_week=None,
    )


def _cv(gaps: Gaps) -> float:
    mean = gaps.total / gaps.n / NS_PER_S
    return float(max(0.0, gaps.squares / gaps.n - mean * mean) ** 0.5 / mean)


def _binned(seconds: Histogram, width: int) -> Histogram:
    """Counts per bin of so many seconds; a histogram's values ascend, so bins are runs."""
    bins = seconds.values // width
    starts = np.flatnonzero(np.r_[True, bins[1:] != bins[:-1]])
    return Histogram(bins[starts], np.add.reduceat(seconds.counts, starts))


def _dense(bins: Histogram, length: int) -> list[int]:
    out = np.zeros(length, dtype=np.int64)
    out[bins.values] = bins.counts
    return [int(count) for count in out]


def _dispersions(
    seconds: Histogram, width: int, grain: Grain, n: int, ends: tuple[int, int]
) -> tuple[float | None, float | None]:
    span, last = ends
    if not grain.shows(width * NS_PER_S, n, span):
        return None, None
    bins = last // (width * NS_PER_S) + 1
    binned = _binned(seconds, width)
    full = binned.counts[binned.values < bins - 1]
    return dispersion(binned.counts, bins), dispersion(full, bins - 1) if len(full) else None


def _percentile(gaps: Gaps, q: float) -> float:
    """In ns, from the log bins, zeros first."""
    place = (gaps.n - 1) * q / 100
    if place < gaps.zeros - 0.5:
        return 0.0
    ends = gaps.zeros + np.cumsum(gaps.logs.counts)
    at = min(int(np.searchsorted(ends, round(place), side="right")), len(ends) - 1)
    value = float(log_value(gaps.logs.values[at : at + 1])[0])
    return min(max(value, gaps.smallest), gaps.largest)


def _gap_distribution(gaps: Gaps) -> Distribution:
    mean = gaps.total / gaps.n / NS_PER_S
    p50, p90, p95, p99 = (_percentile(gaps, q) / NS_PER_S for q in (50, 90, 95, 99))
    return Distribution(
        n=gaps.n,
        mean=mean,
        std=_cv(gaps) * mean,
        min=gaps.smallest / NS_PER_S,
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=gaps.largest / NS_PER_S,
        sum=gaps.total / NS_PER_S,
    )


def _batches(gaps: Gaps) -> int:
    """``arrivals.batch_grain`` from the log bins; 1 where the log does not stamp in batches."""
    positive = gaps.n - gaps.zeros
    if positive == 0 or positive * 2 > gaps.n:
        return 1
    ends = np.cumsum(gaps.logs.counts)
    places = np.searchsorted(ends, [0.05 * positive, 0.5 * positive])
    low, median = log_value(gaps.logs.values[places])
    return int(median) if low >= median / 2 else 1


def _on_share(gaps: Gaps, n: int, span: int) -> float:
    values = log_value(gaps.logs.values)
    pauses = values > pause_limit(n, span)
    return float(1 - min(1.0, np.dot(values[pauses], gaps.logs.counts[pauses]) / span))


def _joint(
    whole: Partial, inputs: Distribution | None, outputs: Distribution | None
) -> Joint | None:
    if inputs is None or outputs is None or not whole.joint:
        return None
    rows, columns = int(inputs.max).bit_length(), int(outputs.max).bit_length()
    counts = [[whole.joint.get((i, j), 0) for j in range(columns + 1)] for i in range(rows + 1)]
    pearson = None
    if inputs.n == outputs.n == whole.n and inputs.std and outputs.std:
        covariance = whole.cross / whole.n - inputs.mean * outputs.mean
        pearson = covariance / (inputs.std * outputs.std)
    return Joint(
        input_edges=[0, *(1 << k for k in range(rows + 1))],
        output_edges=[0, *(1 << k for k in range(columns + 1))],
        counts=counts,
        pearson=pearson,
        spearman=None,
    )
