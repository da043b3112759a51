"""Partial fingerprints: what must be kept of a part of a trace so that parts add up.

Lengths are kept as value -> count, so every percentile of the merged whole is exact. Arrivals are
kept as counts per second from a common origin, so rates, peaks and dispersions are exact too.
Gaps between arrivals are kept as sums and as a histogram of log-spaced bins 0.1 % wide; they add up
exactly only if the parts follow each other in time, and are given up (null) if they overlap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seatrial.core.units import NS_PER_S
from seatrial.trace.table import Ints
from seatrial.workload.lengths import Floats
from seatrial.workload.pressure import WINDOW_S, Windows
from seatrial.workload.profile import Distribution

PER_DECADE = 2303  # bins of 0.1 % each: ln(10) / 0.001
DECADES = 19


@dataclass(frozen=True, slots=True)
class Histogram:
    """Values in ascending order and how often each occurs."""

    values: Ints
    counts: Ints

    @property
    def n(self) -> int:
        """How many values were counted."""
        return int(self.counts.sum())

    def total(self) -> int:
        """Exact sum."""
        return sum(v * c for v, c in zip(self.values.tolist(), self.counts.tolist(), strict=True))

    def distribution(self, unit: float = 1.0) -> Distribution | None:
        """The distribution of the values divided by ``unit``; None of none."""
        if self.n == 0:
            return None
        mean = self.total() / self.n
        spread = float(np.dot(self.counts, (self.values - mean) ** 2)) / self.n
        p50, p90, p95, p99 = (self.percentile(q) / unit for q in (50, 90, 95, 99))
        return Distribution(
            n=self.n,
            mean=mean / unit,
            std=spread**0.5 / unit,
            min=float(self.values[0]) / unit,
            p50=p50,
            p90=p90,
            p95=p95,
            p99=p99,
            max=float(self.values[-1]) / unit,
            sum=self.total() / unit,
        )

    def percentile(self, q: float) -> float:
        """Linear interpolation between order statistics (numpy's default)."""
        place = (self.n - 1) * q / 100
        low = int(place)
        ends = np.cumsum(self.counts)
        first = float(self.values[np.searchsorted(ends, low, side="right")])
        after = min(low + 1, self.n - 1)
        second = float(self.values[np.searchsorted(ends, after, side="right")])
        return first + (second - first) * (place - low)


def add_histograms(a: Histogram, b: Histogram) -> Histogram:
    """The histogram of both."""
    values, place = np.unique(np.concatenate((a.values, b.values)), return_inverse=True)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, place.reshape(-1), np.concatenate((a.counts, b.counts)))
    return Histogram(values, counts)


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps between successive arrivals, in ns.

    Attributes:
        n, zeros, smallest, largest: counts and extremes. total, squares: of the gaps, ns and s^2.
        logs: log-spaced bins of the positive ones. pauses: total of gaps above the pause limit is
            reckoned from ``logs`` when it is asked for.
    """

    n: int
    zeros: int
    smallest: int
    largest: int
    total: int
    squares: float
    logs: Histogram


def gaps_of(arrival_ns: Ints) -> Gaps:
    """Of ascending arrivals."""
    gaps = np.diff(arrival_ns)
    positive = gaps[gaps > 0]
    counts = np.bincount(_log_bin(positive))
    bins = np.flatnonzero(counts)
    seconds = gaps / NS_PER_S
    return Gaps(
        n=len(gaps),
        zeros=len(gaps) - len(positive),
        smallest=int(gaps.min(initial=1 << 62)),
        largest=int(gaps.max(initial=0)),
        total=int(gaps.sum()),
        squares=float(np.dot(seconds, seconds)),
        logs=Histogram(bins.astype(np.int64), counts[bins].astype(np.int64)),
    )


def _log_bin(gaps: Ints) -> Ints:
    return np.asarray(np.log10(gaps) * PER_DECADE, dtype=np.int64)


def log_value(place: Ints) -> Floats:
    """The middle of log bins, in ns: within 0.05 % of anything in the bin."""
    return np.asarray(10 ** ((place + 0.5) / PER_DECADE), dtype=np.float64)


def add_gaps(a: Gaps, b: Gaps, between: int) -> Gaps:
    """Gaps of two parts of which the second begins ``between`` ns after the first ends."""
    bridge = gaps_of(np.array([0, between], dtype=np.int64))
    return _sum_gaps(_sum_gaps(a, bridge), b)


def _sum_gaps(a: Gaps, b: Gaps) -> Gaps:
    return Gaps(
        n=a.n + b.n,
        zeros=a.zeros + b.zeros,
        smallest=min(a.smallest, b.smallest),
        largest=max(a.largest, b.largest),
        total=a.total + b.total,
        squares=a.squares + b.squares,
        logs=add_histograms(a.logs, b.logs),
    )


@dataclass(frozen=True, slots=True)
class Partial:
    """One part of a trace. ``first_ns``/``last_ns`` count from the common origin.

    Attributes:
        seconds: second from the origin -> arrivals in it. gaps: None once parts have overlapped.
        joint: (input bin, output bin) -> requests, bins as in ``lengths.joint``.
        cross: exact sum of input x output, over rows with both; ``inputs``/``outputs`` count all.
        windows: sums for ``pressure``, per 10 s from the origin.
    """

    n: int
    bad: int
    first_ns: int | None
    last_ns: int | None
    inputs: Histogram
    outputs: Histogram
    joint: dict[tuple[int, int], int]
    cross: int
    seconds: Histogram
    gaps: Gaps | None
    windows: Windows | None


def merge(a: Partial, b: Partial) -> Partial:
    """Both parts as one; they must count from the same origin."""
    if (b.first_ns or 0, b.last_ns or 0) < (a.first_ns or 0, a.last_ns or 0):
        a, b = b, a
    gaps = None
    if a.gaps is not None and b.gaps is not None and a.last_ns is not None:
        between = (b.first_ns or 0) - a.last_ns
        gaps = add_gaps(a.gaps, b.gaps, between) if between >= 0 else None
    joint = dict(a.joint)
    for cell, count in b.joint.items():
        joint[cell] = joint.get(cell, 0) + count
    ends = [x for x in (a.last_ns, b.last_ns) if x is not None]
    starts = [x for x in (a.first_ns, b.first_ns) if x is not None]
    return Partial(
        n=a.n + b.n,
        bad=a.bad + b.bad,
        first_ns=min(starts, default=None),
        last_ns=max(ends, default=None),
        inputs=add_histograms(a.inputs, b.inputs),
        outputs=add_histograms(a.outputs, b.outputs),
        joint=joint,
        cross=a.cross + b.cross,
        seconds=add_histograms(a.seconds, b.seconds),
        gaps=gaps,
        windows=_add_windows(a.windows, b.windows),
    )


def moved(part: Partial, seconds: int, *, windows: bool = True) -> Partial:
    """The same part counted from an origin that lies ``seconds`` earlier.

    Windows of 10 s move only by whole windows; ``windows=False`` leaves them where they are.
    """

    def later(moment: int | None) -> int | None:
        return None if moment is None else moment + seconds * NS_PER_S

    sums = part.windows
    if sums is not None and windows:
        place = sums.place + seconds // WINDOW_S
        sums = replace(sums, place=place, span_s=sums.span_s + seconds)
    return replace(
        part,
        first_ns=later(part.first_ns),
        last_ns=later(part.last_ns),
        seconds=Histogram(part.seconds.values + seconds, part.seconds.counts),
        windows=sums,
    )


def _add_windows(a: Windows | None, b: Windows | None) -> Windows | None:
    if a is None or b is None:
        return a or b
    place, at = np.unique(np.concatenate((a.place, b.place)), return_inverse=True)
    index = at.reshape(-1)

    def both(x: Floats, y: Floats) -> Floats:
        summed = np.bincount(index, weights=np.concatenate((x, y)), minlength=len(place))
        return np.asarray(summed, dtype=np.float64)

    return Windows(
        place=place,
        n=both(a.n, b.n),
        i=both(a.i, b.i),
        ii=both(a.ii, b.ii),
        o=both(a.o, b.o),
        oi=both(a.oi, b.oi),
        oo=both(a.oo, b.oo),
        span_s=max(a.span_s, b.span_s),
    )
