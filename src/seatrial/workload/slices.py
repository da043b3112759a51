"""Arrivals of a large log, slice by slice: gaps, counts per second, sums per 10 s, halves.

What depends on the order of arrivals is reckoned here on arrays, each slice in a thread of its own
(sorting and arithmetic of numpy run beside each other); what does not is DuckDB's. A slice is a
range of whole minutes from the origin, so neither a second nor a window is cut in two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seatrial.core.units import NS_PER_S
from seatrial.trace.table import Ints
from seatrial.workload.lengths import Floats
from seatrial.workload.partial import Gaps, Histogram, add_gaps, gaps_of
from seatrial.workload.pressure import WINDOW_S, Windows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MINUTE_NS = 60 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Span:
    """Minutes [low, high) from the origin, and the place of its first arrival in the whole."""

    low: int
    high: int
    before: int


@dataclass(frozen=True, slots=True)
class Half:
    """Of the arrivals on one side of the middle: sums and counts of inputs and outputs."""

    i: int
    n_i: int
    o: int
    n_o: int

    def plus(self, other: Half) -> Half:
        """Both."""
        return Half(self.i + other.i, self.n_i + other.n_i, self.o + other.o, self.n_o + other.n_o)


@dataclass(frozen=True, slots=True)
class Slice:
    """Sums over the arrivals of one span; ``first`` and ``last`` in ns from the origin.

    ``middle``: the arrival at place n // 2 of the whole log, where it is in this slice.
    """

    first: int
    last: int
    seconds: Histogram
    gaps: Gaps
    windows: Windows
    middle: int | None
    halves: tuple[Half, Half]


def spans(minutes: Histogram, most: int) -> Iterator[Span]:
    """Spans of at most ``most`` arrivals each, one minute at least."""
    ends = np.cumsum(minutes.counts)
    start, base = 0, 0
    while start < len(ends):
        stop = max(start + 1, int(np.searchsorted(ends, base + most, side="right")))
        yield Span(int(minutes.values[start]), int(minutes.values[stop - 1]) + 1, base)
        start, base = stop, int(ends[stop - 1])


def read_slice(db: DuckDBPyConnection, origin: int, span: Span, half: int) -> Slice:
    """Fetch and reckon one slice, on a cursor of its own; ``half``: place of the middle arrival."""
    low, high = origin + span.low * MINUTE_NS, origin + span.high * MINUTE_NS
    with db.cursor() as cursor:
        columns = cursor.execute(
            f"select ts - {origin}, coalesce(i, -1), coalesce(o, -1) from log "
            f"where ts >= {low} and ts < {high}"
        ).fetchnumpy()
    stamps, inputs, outputs = (np.asarray(c, dtype=np.int64) for c in columns.values())
    if np.any(stamps[1:] < stamps[:-1]):
        order = np.argsort(stamps, kind="stable")
        stamps, inputs, outputs = stamps[order], inputs[order], outputs[order]
    place = half - span.before
    middle = int(stamps[place]) if 0 <= place < len(stamps) else None
    cut = (
        int(np.searchsorted(stamps, middle))
        if middle is not None
        else min(max(place, 0), len(stamps))
    )
    seconds = _runs(stamps // NS_PER_S)
    return Slice(
        first=int(stamps[0]),
        last=int(stamps[-1]),
        seconds=seconds,
        gaps=gaps_of(stamps),
        windows=_windows(seconds, inputs, outputs),
        middle=middle,
        halves=(_half(inputs[:cut], outputs[:cut]), _half(inputs[cut:], outputs[cut:])),
    )


def _half(inputs: Ints, outputs: Ints) -> Half:
    i, o = _there(inputs), _there(outputs)
    return Half(int(i.sum()), len(i), int(o.sum()), len(o))


def _there(column: Ints) -> Ints:
    return column if len(column) == 0 or column.min() >= 0 else column[column >= 0]


def _runs(ascending: Ints) -> Histogram:
    changes = np.flatnonzero(ascending[1:] != ascending[:-1]) + 1
    starts = np.concatenate(([0], changes)).astype(np.int64)
    return Histogram(ascending[starts], np.diff(starts, append=len(ascending)))


def _windows(seconds: Histogram, inputs: Ints, outputs: Ints) -> Windows:
    """Sums per 10 s of requests with both lengths, from seconds in order of arrival."""
    runs = _runs(seconds.values // WINDOW_S)
    firsts = np.cumsum(runs.counts) - runs.counts  # of each window, in seconds that have any
    starts = (np.cumsum(seconds.counts) - seconds.counts)[firsts]
    i, o = inputs.astype(np.float64), outputs.astype(np.float64)
    n = np.diff(starts, append=len(inputs)).astype(np.float64)
    if inputs.min() < 0 or outputs.min() < 0:
        both = ((inputs >= 0) & (outputs >= 0)).astype(np.float64)
        i, o, n = i * both, o * both, np.add.reduceat(both, starts)
    some = n > 0

    def total(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, starts)[some])

    return Windows(
        runs.values[some], n[some], total(i), total(i * i), total(o), total(o * i), total(o * o),
        0.0,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Joined:
    """All slices of a log."""

    seconds: Histogram
    gaps: Gaps
    windows: Windows
    middle: int | None
    halves: tuple[Half, Half]


def join(slices: Sequence[Slice], span_s: float) -> Joined:
    """Slices in order of time, one after another; ``span_s`` from the origin to the last."""
    gaps, end = slices[0].gaps, slices[0].last
    below, above = slices[0].halves
    for each in slices[1:]:
        gaps, end = add_gaps(gaps, each.gaps, each.first - end), each.last
        below, above = below.plus(each.halves[0]), above.plus(each.halves[1])
    seconds, sums = [s.seconds for s in slices], [s.windows for s in slices]

    def whole(name: str) -> Floats:
        return np.concatenate([getattr(part, name) for part in sums])

    return Joined(
        seconds=Histogram(
            np.concatenate([h.values for h in seconds]), np.concatenate([h.counts for h in seconds])
        ),
        gaps=gaps,
        windows=Windows(
            np.concatenate([part.place for part in sums]), whole("n"), whole("i"), whole("ii"),
            whole("o"), whole("oi"), whole("oo"), span_s,
        ),
        middle=next((s.middle for s in slices if s.middle is not None), None),
        halves=(below, above),
    )  # fmt: skip
