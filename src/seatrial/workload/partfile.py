"""Partial fingerprints as files: profile parts where they lie, carry the sums, merge them.

A part is written without knowing the others, so nothing in it can count from the first arrival of
the whole. It counts from a whole 10 s of the log's own clock before its first arrival; merging
moves parts to the earliest of these by whole seconds, which is exact. What merging cannot know is
then null or named in a note: see ``NOTES``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np

from seatrial.core.errors import UsageError
from seatrial.core.units import NS_PER_S
from seatrial.store import read
from seatrial.trace.table import SourceFile
from seatrial.workload.lengths import Floats
from seatrial.workload.outofcore import Summed
from seatrial.workload.partial import (
    DECADES,
    PER_DECADE,
    Gaps,
    Histogram,
    Partial,
    merge,
    moved,
)
from seatrial.workload.pressure import WINDOW_S, Reference, Windows
from seatrial.workload.profile import Drift, Fingerprint, Refused
from seatrial.workload.whole import finish

SCHEMA = "seatrial/profile-partial/1"
MAX_BYTES = 1 << 30
_SHOWN = 10
_LIMIT = 1 << 61
NOTES = (
    "merged from parts: lengths, counts, span, rate and sums are exact; bins of time begin at the "
    "whole second before the first arrival (less than 1 s away from those of one pass), windows "
    "of pressure at the clock's whole 10 s; drift is not reckoned"
)
OVERLAP = "the parts overlap in time, so gaps between arrivals do not add up and are null"


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """A histogram: values in ascending order, and how often each occurs."""

    values: list[int]
    counts: list[int]


class GapSums(msgspec.Struct, frozen=True, kw_only=True):
    """Gaps between arrivals, as ``partial.Gaps``; ns, ``squares`` in s^2."""

    n: int
    zeros: int
    smallest: int
    largest: int
    total: int
    squares: float
    logs: Counted


class WindowSums(msgspec.Struct, frozen=True, kw_only=True):
    """Per 10 s, as ``pressure.Windows``."""

    place: list[int]
    n: list[float]
    i: list[float]
    ii: list[float]
    o: list[float]
    oi: list[float]
    oo: list[float]


class PartFile(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a trace: sums and counts, no request, no text.

    ``origin_ns``: where it counts from, in ns of the log's own clock; null without times.
    ``cross``: sum of input x output, as text because it can exceed 64 bits.
    """

    schema: str
    format: str
    grain_ns: int
    missing: list[str]
    notes: list[str]
    files: list[SourceFile]
    refused: list[Refused]
    origin_ns: int | None
    requests: int
    bad: int
    first_ns: int | None
    last_ns: int | None
    inputs: Counted
    outputs: Counted
    joint: list[tuple[int, int, int]]
    cross: str
    seconds: Counted
    gaps: GapSums | None
    windows: WindowSums | None


def part_file(summed: Summed) -> PartFile:
    """The file of a part that ``outofcore.sum_files`` has summed on the clock."""
    whole = summed.whole
    return PartFile(
        schema=SCHEMA,
        format=summed.columns.format,
        grain_ns=summed.columns.grain_ns,
        missing=summed.columns.missing(),
        notes=list(summed.columns.notes),
        files=summed.files,
        refused=summed.refused,
        origin_ns=summed.origin_ns,
        requests=whole.n,
        bad=whole.bad,
        first_ns=whole.first_ns,
        last_ns=whole.last_ns,
        inputs=_counted(whole.inputs),
        outputs=_counted(whole.outputs),
        joint=[(a, b, c) for (a, b), c in sorted(whole.joint.items())],
        cross=str(whole.cross),
        seconds=_counted(whole.seconds),
        gaps=None if whole.gaps is None else _gap_sums(whole.gaps),
        windows=None if whole.windows is None else _window_sums(whole.windows),
    )


def merge_files(paths: Sequence[Path], *, reference: Reference | None = None) -> Fingerprint:
    """The fingerprint of the whole of which these files are the parts.

    Raises:
        UsageError: no parts, parts of different formats, or a source file in two of them.
        IntegrityError: a file that is no part.
    """
    parts = sorted((_read(path) for path in paths), key=lambda part: _start(part) or 0)
    _fit(parts)
    origin = _origin(parts)
    whole: Partial | None = None
    for part in parts:
        shift = 0 if part.origin_ns is None else (part.origin_ns - (origin or 0)) // NS_PER_S
        one = moved(_partial(part), shift)
        whole = one if whole is None else merge(whole, one)
    assert whole is not None
    notes = [note for part in parts for note in part.notes]
    if whole.gaps is None and whole.first_ns is not None:
        notes.append(OVERLAP)
    if whole.first_ns is not None:
        whole = moved(whole, -(whole.first_ns // NS_PER_S), windows=False)
    return finish(
        whole,
        format_id=parts[0].format,
        grain_ns=max(part.grain_ns for part in parts),
        files=[file for part in parts for file in part.files],
        refused=[bad for part in parts for bad in part.refused][:_SHOWN],
        missing=list(dict.fromkeys(gap for part in parts for gap in part.missing)),
        notes=[*dict.fromkeys(notes), NOTES],
        drift=Drift(rate=None, input_mean=None, output_mean=None),
        reference=reference,
    )


def _read(path: Path) -> PartFile:
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise _no_part(path, "it has more than 1 GiB")
    part = read(path, PartFile)
    if part.schema != SCHEMA:
        raise _no_part(path, f"its schema is not {SCHEMA}")
    if why := _unsound(part):
        raise _no_part(path, why)
    return part


def _unsound(part: PartFile) -> str | None:
    """Why these sums cannot be those of a part; None if they can."""
    gaps = part.gaps
    histograms = [part.inputs, part.outputs, part.seconds, *([gaps.logs] if gaps else [])]
    if not 1 <= part.requests < 1 << 50 or not all(map(_ordered, histograms)):
        return "a histogram is not in order"
    if any(sum(each.counts) > part.requests for each in histograms):
        return "there are more values than requests"
    if not part.cross.isascii() or not part.cross.isdigit() or len(part.cross) > 60:
        return "a sum is no number"
    times = (part.origin_ns, part.first_ns, part.last_ns)
    if any(moment is None for moment in times):
        timed = gaps or part.seconds.values or any(moment is not None for moment in times)
        return "its times do not fit together" if timed else _unsound_windows(part, 0)
    return _unsound_times(part) or _unsound_windows(part, part.last_ns or 0)


def _ordered(counted: Counted) -> bool:
    values, counts = counted.values, counted.counts
    rising = all(a < b for a, b in pairwise(values))
    inside = all(0 <= value < _LIMIT for value in (*values[:1], *values[-1:]))
    return len(values) == len(counts) and min(counts, default=1) > 0 and rising and inside


def _unsound_times(part: PartFile) -> str | None:
    origin, first, last = part.origin_ns or 0, part.first_ns or 0, part.last_ns or 0
    seconds, gaps = part.seconds, part.gaps
    inside = abs(origin) < _LIMIT and 0 <= first <= last < _LIMIT
    ends = (first // NS_PER_S, last // NS_PER_S)
    if not inside or origin % (WINDOW_S * NS_PER_S) or sum(seconds.counts) != part.requests:
        return "its times do not fit together"
    if (seconds.values[0], seconds.values[-1]) != ends:
        return "its times do not fit together"
    if gaps is None:
        return None
    counted = gaps.zeros + sum(gaps.logs.counts)
    sane = gaps.n == counted == part.requests - 1 and gaps.zeros >= 0
    bins = max(gaps.logs.values, default=0) <= PER_DECADE * DECADES
    sized = 0 <= gaps.smallest <= 1 << 62 and 0 <= gaps.largest < _LIMIT
    fits = gaps.total == last - first and gaps.squares >= 0
    return None if sane and bins and sized and fits else "its gaps do not fit together"


def _unsound_windows(part: PartFile, last_ns: int) -> str | None:
    w = part.windows
    if w is None:
        return None
    columns = (w.n, w.i, w.ii, w.o, w.oi, w.oo)
    rising = all(a < b for a, b in pairwise(w.place))
    top = last_ns // (WINDOW_S * NS_PER_S)
    inside = bool(w.place) and w.place[0] >= 0 and w.place[-1] <= top
    sized = all(len(column) == len(w.place) for column in columns)
    if rising and inside and sized and all(value >= 0 for column in columns for value in column):
        return None if min(w.n) > 0 else "its windows do not fit together"
    return "its windows do not fit together"


def _no_part(path: Path, why: str) -> UsageError:
    return UsageError(
        f"this is no partial fingerprint: {why}",
        where=path.name,
        remedy="give files that seatrial profile TRACE... --partial FILE wrote",
    )


def _fit(parts: Sequence[PartFile]) -> None:
    if not parts:
        raise UsageError("there are no parts", remedy="seatrial profile --merge A.json B.json")
    formats = sorted({part.format for part in parts})
    if len(formats) > 1 or len({part.origin_ns is None for part in parts}) > 1:
        raise UsageError(
            f"parts of different logs do not make one trace: {', '.join(formats)}",
            remedy="merge parts of one format, all with times or all without",
        )
    seen: dict[str, str] = {}
    for file in (file for part in parts for file in part.files):
        if file.sha256 in seen:
            raise UsageError(
                f"the same source file is in two parts: {file.name} and {seen[file.sha256]}",
                where=file.name,
                remedy="leave one out, or its requests count twice",
            )
        seen[file.sha256] = file.name


def _origin(parts: Sequence[PartFile]) -> int | None:
    return min((p.origin_ns for p in parts if p.origin_ns is not None), default=None)


def _start(part: PartFile) -> int | None:
    return None if part.origin_ns is None else part.origin_ns + (part.first_ns or 0)


def _partial(part: PartFile) -> Partial:
    return Partial(
        n=part.requests,
        bad=part.bad,
        first_ns=part.first_ns,
        last_ns=part.last_ns,
        inputs=_histogram(part.inputs),
        outputs=_histogram(part.outputs),
        joint={(a, b): c for a, b, c in part.joint},
        cross=int(part.cross),
        seconds=_histogram(part.seconds),
        gaps=None if part.gaps is None else _gaps(part.gaps),
        windows=None if part.windows is None else _windows(part),
    )


def _counted(histogram: Histogram) -> Counted:
    return Counted(values=histogram.values.tolist(), counts=histogram.counts.tolist())


def _histogram(counted: Counted) -> Histogram:
    return Histogram(
        np.array(counted.values, dtype=np.int64), np.array(counted.counts, dtype=np.int64)
    )


def _gap_sums(gaps: Gaps) -> GapSums:
    return GapSums(
        n=gaps.n,
        zeros=gaps.zeros,
        smallest=gaps.smallest,
        largest=gaps.largest,
        total=gaps.total,
        squares=gaps.squares,
        logs=_counted(gaps.logs),
    )


def _gaps(sums: GapSums) -> Gaps:
    return Gaps(
        n=sums.n,
        zeros=sums.zeros,
        smallest=sums.smallest,
        largest=sums.largest,
        total=sums.total,
        squares=sums.squares,
        logs=_histogram(sums.logs),
    )


def _window_sums(w: Windows) -> WindowSums:
    return WindowSums(
        place=w.place.tolist(),
        n=w.n.tolist(),
        i=w.i.tolist(),
        ii=w.ii.tolist(),
        o=w.o.tolist(),
        oi=w.oi.tolist(),
        oo=w.oo.tolist(),
    )


def _windows(part: PartFile) -> Windows:
    w = part.windows
    assert w is not None

    def floats(column: list[float]) -> Floats:
        return np.array(column, dtype=np.float64)

    return Windows(
        place=np.array(w.place, dtype=np.int64),
        n=floats(w.n),
        i=floats(w.i),
        ii=floats(w.ii),
        o=floats(w.o),
        oi=floats(w.oi),
        oo=floats(w.oo),
        span_s=(part.last_ns or 0) / NS_PER_S,
    )
