"""Arrivals: rate, peaks, burstiness, and how much of it the time stamps can show.

A log that stamps requests in batches (Mooncake's conversation trace, every 3 s) has an
inter-arrival CV of its own making: zeros within a batch, the batch period between. The index of
dispersion (variance over mean of counts per bin; Cox and Lewis, 1966) is right at every scale
that is longer than the grain. Both are 1 for a Poisson process.
"""

from __future__ import annotations

import numpy as np

from seatrial.core.units import NS_PER_S
from seatrial.trace.table import Ints
from seatrial.workload.lengths import distribution
from seatrial.workload.profile import Arrivals

SCALES_S = (1, 10, 60, 600, 3600)
MAX_BINS = 50_000_000
SHOWN_MINUTES = 20_160


def arrivals(arrival_ns: Ints, grain_ns: int | None) -> Arrivals | None:
    """Everything about times of arrival (ascending, the first 0); None of fewer than two."""
    n = len(arrival_ns)
    if n < 2 or arrival_ns[-1] == arrival_ns[0]:
        return None
    gaps = np.diff(arrival_ns)
    span = int(arrival_ns[-1] - arrival_ns[0])
    grain = max(grain_ns or 1, batch_grain(gaps) or 1)
    mean_gap = span / (n - 1)
    naive = float(np.std(gaps) / mean_gap)
    fine = grain <= mean_gap
    minute = counts(arrival_ns, 60)
    full = minute[:-1]
    return Arrivals(
        rate_per_s=n / (span / NS_PER_S),
        cv_interarrival=naive if fine else None,
        cv_interarrival_naive=naive,
        grain_s=grain / NS_PER_S,
        dispersion={f"{s}s": _dispersion_at(arrival_ns, s, grain, span) for s in SCALES_S},
        peak_per_second=_peak(arrival_ns, 1, grain),
        peak_per_minute=int(minute.max()),
        mean_per_minute=float(minute.mean()),
        peak_to_mean_minute=float(minute.max() / minute.mean()),
        peak_to_mean_minute_full_bins=float(full.max() / full.mean()) if full.any() else None,
        interarrival_s=distribution(gaps / NS_PER_S) if fine else None,
        share_zero_interarrival=float(np.mean(gaps == 0)) if fine else None,
        distinct_timestamps=int(np.count_nonzero(gaps)) + 1,
        on_share=on_share(arrival_ns, span),
        per_minute=minute.tolist() if len(minute) <= SHOWN_MINUTES else None,
        per_hour_of_day=None,
    )


def batch_grain(gaps: Ints) -> int | None:
    """The period of a log that stamps in batches; None if it does not.

    Batches are what explains at least half of the gaps being exactly zero while the others are
    all about the same: the 5th percentile of the positive gaps above half their median.
    """
    positive = gaps[gaps > 0]
    if len(positive) == 0 or len(positive) * 2 > len(gaps):
        return None
    low, median = np.percentile(positive, [5, 50])
    return int(median) if low >= median / 2 else None


def counts(arrival_ns: Ints, width_s: float) -> Ints:
    """Requests per bin of ``width_s``, from the first arrival; empty bins and the last included."""
    bins = (arrival_ns - arrival_ns[0]) // int(width_s * NS_PER_S)
    return np.bincount(bins).astype(np.int64)


def dispersion(per_bin: Ints) -> float:
    """Population variance over mean of counts per bin."""
    return float(per_bin.var() / per_bin.mean())


def _dispersion_at(arrival_ns: Ints, width_s: int, grain: int, span: int) -> float | None:
    width = width_s * NS_PER_S
    if width < grain or span < 2 * width or span // width > MAX_BINS:
        return None
    return dispersion(counts(arrival_ns, width_s))


def _peak(arrival_ns: Ints, width_s: int, grain: int) -> int | None:
    width = width_s * NS_PER_S
    if width < grain or int(arrival_ns[-1]) // width > MAX_BINS:
        return None
    return int(counts(arrival_ns, width_s).max())


def on_share(arrival_ns: Ints, span: int) -> float | None:
    """Share of the span that is not an idle pause.

    A pause is a gap that a Poisson process of the same rate would show less than once in 1,000
    traces of this length: longer than mean gap x ln(1000 n).
    """
    n = len(arrival_ns)
    gaps = np.diff(arrival_ns)
    return float(1 - gaps[gaps > pause_limit(n, span)].sum() / span)


def pause_limit(n: int, span: int) -> float:
    """The gap, in the unit of ``span``, above which ``on_share`` sees a pause."""
    return float(span / (n - 1) * np.log(1000 * n))
