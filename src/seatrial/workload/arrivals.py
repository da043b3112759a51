"""Arrivals: rate, peaks, burstiness, and how much of it the time stamps can show.

A log that stamps requests in batches (Mooncake's conversation trace, every 3 s) has an
inter-arrival CV of its own making: zeros within a batch, the batch period between. The index of
dispersion (variance over mean of counts per bin; Cox and Lewis, 1966) is right at every scale
that is longer than the grain. Both are 1 for a Poisson process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seatrial.core.units import NS_PER_S
from seatrial.trace.table import Ints
from seatrial.workload.lengths import distribution
from seatrial.workload.profile import Arrivals

_MONDAY_NS = 3 * 86_400 * NS_PER_S  # from Monday 0 h to the Thursday that 1970 began with
SCALES_S = (1, 10, 60, 600, 3600)
SHOWN_MINUTES = 20_160


@dataclass(frozen=True, slots=True)
class Grain:
    """What time stamps resolve: by the format (an exact grid), or by batches found in the data."""

    exact: int
    batches: int

    @property
    def ns(self) -> int:
        """The coarser of the two."""
        return max(self.exact, self.batches)

    def shows(self, width: int, n: int, span: int) -> bool:
        """Whether counts per ``width`` say something about the traffic and not about the stamps.

        A bin holds one stamp more or less than the next, each with rate x grain requests, so the
        stamps alone add rate x grain^2 / width x f (1 - f) to the dispersion, f being the
        fractional part of width / grain (1/2 at worst where batches are not on a grid). Up to a
        tenth of a Poisson process's 1 is let pass; and there must be two whole bins.
        """
        if width < self.ns or span < 2 * width:
            return False
        part = (width / self.exact) % 1.0 if self.batches <= self.exact else 0.5
        return (n / span) * self.ns**2 / width * part * (1 - part) <= 0.1


def arrivals(
    arrival_ns: Ints, grain_ns: int | None, epoch_ns: int | None = None
) -> Arrivals | None:
    """Everything about times of arrival (ascending, the first 0); None of fewer than two.

    ``epoch_ns``: moment of the first arrival, where it is known.
    """
    n = len(arrival_ns)
    if n < 2 or arrival_ns[-1] == arrival_ns[0]:
        return None
    gaps = np.diff(arrival_ns)
    span = int(arrival_ns[-1] - arrival_ns[0])
    grain = Grain(grain_ns or 1, batch_grain(gaps) or 1)
    mean_gap = span / (n - 1)
    naive = float(np.std(gaps) / mean_gap)
    fine = grain.ns <= mean_gap
    minute, bins = counts(arrival_ns, 60)
    full = minute[minute[:, 0] < bins - 1, 1]
    mean_minute = n / bins
    spread = {f"{s}s": _dispersions(arrival_ns, s, grain, n, span) for s in SCALES_S}
    return Arrivals(
        rate_per_s=n / (span / NS_PER_S),
        cv_interarrival=naive if fine else None,
        cv_interarrival_naive=naive,
        grain_s=grain.ns / NS_PER_S,
        dispersion={name: pair[0] for name, pair in spread.items()},
        dispersion_full_bins={name: pair[1] for name, pair in spread.items()},
        peak_per_second=_peak(arrival_ns, 1, grain.ns),
        peak_per_minute=int(minute[:, 1].max()),
        mean_per_minute=mean_minute,
        peak_to_mean_minute=float(minute[:, 1].max() / mean_minute),
        peak_to_mean_minute_full_bins=(
            float(full.max() / (full.sum() / (bins - 1))) if len(full) else None
        ),
        interarrival_s=distribution(gaps / NS_PER_S) if fine else None,
        share_zero_interarrival=float(np.mean(gaps == 0)) if fine else None,
        distinct_timestamps=int(np.count_nonzero(gaps)) + 1,
        on_share=on_share(arrival_ns, span),
        per_minute=dense(minute, bins) if bins <= SHOWN_MINUTES else None,
        per_hour_of_day=_per_hour(arrival_ns, epoch_ns, 24),
        per_hour_of_week=_per_hour(arrival_ns, epoch_ns, 168),
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


def counts(arrival_ns: Ints, width_s: int) -> tuple[Ints, int]:
    """Requests per bin of ``width_s`` from the first arrival.

    Returns:
        (k, 2) bin and requests in it, for bins that have any, ascending; and how many bins there
        are in all, the last, partial one included. A year of silence costs no memory.
    """
    bins = (arrival_ns - arrival_ns[0]) // (width_s * NS_PER_S)
    starts = np.flatnonzero(np.r_[True, bins[1:] != bins[:-1]])
    sizes = np.diff(np.r_[starts, len(bins)])
    return np.column_stack((bins[starts], sizes)).astype(np.int64), int(bins[-1]) + 1


def dense(sparse: Ints, bins: int) -> list[int]:
    """Requests of every bin, empty ones too."""
    out = np.zeros(bins, dtype=np.int64)
    out[sparse[:, 0]] = sparse[:, 1]
    return [int(count) for count in out]


def dispersion(per_bin: Ints, bins: int) -> float:
    """Population variance over mean of counts per bin; bins not in ``per_bin`` are empty."""
    held = per_bin.astype(np.float64)
    mean = float(held.sum()) / bins
    return (float(np.dot(held, held)) / bins - mean * mean) / mean


def _dispersions(
    arrival_ns: Ints, width_s: int, grain: Grain, n: int, span: int
) -> tuple[float | None, float | None]:
    """(of all bins, of all but the last, partial one); None where the scale cannot be seen."""
    if not grain.shows(width_s * NS_PER_S, n, span):
        return None, None
    sparse, bins = counts(arrival_ns, width_s)
    full = sparse[sparse[:, 0] < bins - 1, 1]
    return dispersion(sparse[:, 1], bins), dispersion(full, bins - 1) if len(full) else None


def _peak(arrival_ns: Ints, width_s: int, grain: int) -> int | None:
    if width_s * NS_PER_S < grain:
        return None
    return int(counts(arrival_ns, width_s)[0][:, 1].max())


def _per_hour(arrival_ns: Ints, epoch_ns: int | None, cycle: int) -> list[float] | None:
    """Requests per hour of a cycle of 24 or 168 hours, each over the time the trace covers of it.

    None unless the trace covers the whole cycle.
    """
    if epoch_ns is None or int(arrival_ns[-1]) < cycle * 3600 * NS_PER_S:
        return None
    hour_ns = 3600 * NS_PER_S
    origin = 0 if cycle == 24 else -_MONDAY_NS  # 1 January 1970 was a Thursday
    start, end = epoch_ns - origin, epoch_ns - origin + int(arrival_ns[-1])
    hours = (arrival_ns + start) // hour_ns % cycle
    requests = np.bincount(hours, minlength=cycle)
    covered = np.zeros(cycle)
    for hour in range(int(start // hour_ns), int(end // hour_ns) + 1):
        inside = min(end, (hour + 1) * hour_ns) - max(start, hour * hour_ns)
        covered[hour % cycle] += inside / hour_ns
    return [float(r / c) if c > 0 else 0.0 for r, c in zip(requests, covered, strict=True)]


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
