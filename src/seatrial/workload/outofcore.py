"""Fingerprints of logs that do not fit into memory: DuckDB does the passes, sums come back.

A CSV is parsed once into a columnar file in a temporary folder; Parquet is read where it lies.
Then a handful of aggregations run over single columns on all cores, and arrivals come back in
slices of at most ``SLICE`` rows. Memory is bounded by DuckDB's limit and one slice, whatever the
size of the log. What needs whole requests (prefixes, sessions) is not done here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.core.units import NS_PER_S
from seatrial.trace.source import file_sha256
from seatrial.trace.table import SourceFile
from seatrial.workload.columns import Columns
from seatrial.workload.partial import Gaps, Histogram, Partial, add_gaps, gaps_of
from seatrial.workload.pressure import WINDOW_S, Reference, Windows
from seatrial.workload.profile import Drift, Fingerprint, Refused
from seatrial.workload.whole import finish

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SLICE = 4_000_000
MEMORY_LIMIT = "800MB"
EMPTY = Histogram(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class _Log:
    """A connection with the view ``log(ts, i, o)``: ns or null, tokens or null."""

    db: DuckDBPyConnection
    timed: bool

    def row(self, sql: str) -> tuple[Any, ...]:
        found = self.db.execute(sql).fetchone()
        assert found is not None
        return tuple(found)

    def arrays(self, sql: str) -> list[Any]:
        return list(self.db.execute(sql).fetchnumpy().values())


@dataclass(frozen=True, slots=True)
class Summed:
    """Files as sums: the partial fingerprint and what stands beside it.

    ``origin_ns``: what ``whole`` counts from, in the log's own clock; None without times.
    """

    whole: Partial
    origin_ns: int | None
    drift: Drift
    columns: Columns
    files: list[SourceFile]
    refused: list[Refused]


def profile_files(
    paths: Sequence[Path],
    columns: Columns,
    *,
    reference: Reference | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Fingerprint:
    """The fingerprint of CSV or Parquet files in constant memory; as ``sum_files``."""
    summed = sum_files(paths, columns, progress=progress, folder=folder)
    return finish(
        summed.whole,
        format_id=columns.format,
        grain_ns=columns.grain_ns,
        files=summed.files,
        refused=summed.refused,
        missing=columns.missing(),
        notes=list(columns.notes),
        drift=summed.drift,
        reference=reference,
    )


def sum_files(
    paths: Sequence[Path],
    columns: Columns,
    *,
    on_clock: bool = False,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Summed:
    """CSV or Parquet files summed in constant memory.

    Args:
        paths: files of one kind, together one trace.
        columns: which columns hold what.
        on_clock: count from a whole 10 s of the log's clock, so that parts add up, in place of
            the first arrival.
        folder: where the temporary copy goes; None: the system's temporary folder.

    Raises:
        UsageError: the files are not what ``columns`` says, or hold no row that can be read.
    """
    import duckdb

    sink = progress or Silent()
    hashes = ThreadPoolExecutor(1)  # hashing needs no lock of Python's, so it runs beside
    digests = [hashes.submit(file_sha256, path) for path in paths]
    with hashes, tempfile.TemporaryDirectory(dir=folder, prefix="seatrial-") as room:
        db = duckdb.connect(str(Path(room) / "log.db"))
        try:
            _limits(db, Path(room))
            sink.step("profile", f"reading {len(paths)} file(s) out of core")
            bad, refused = columns.open(db, paths)
            log = _Log(db, columns.time is not None)
            sink.step("profile", "adding up")
            whole, origin, drift = _whole(log, bad, on_clock)
        except duckdb.Error as error:
            raise _unreadable(paths, error) from error
        finally:
            db.close()
    if whole.n == 0:
        raise UsageError(
            f"no request could be read ({bad} rows refused)",
            where=paths[0].name,
            remedy="check the file, or name its columns with --map",
        )
    files = [
        SourceFile(
            name=p.name,
            sha256=digest.result(),
            rows=whole.n if len(paths) == 1 else -1,
            bad=bad if len(paths) == 1 else -1,
        )
        for p, digest in zip(paths, digests, strict=True)
    ]
    return Summed(whole, origin, drift, columns, files, refused)


def _limits(db: DuckDBPyConnection, room: Path) -> None:
    db.execute(f"set memory_limit='{MEMORY_LIMIT}'")
    db.execute("set temp_directory=" + "'" + str(room).replace("'", "''") + "'")
    db.execute("set preserve_insertion_order=false")
    db.execute("set enable_progress_bar=false")


def _unreadable(paths: Sequence[Path], error: Exception) -> UsageError:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return UsageError(
        f"the files cannot be read: {first[:200]}",
        where=paths[0].name,
        remedy="check that all files have the same columns; --map names them",
    )


def _whole(log: _Log, bad: int, on_clock: bool) -> tuple[Partial, int | None, Drift]:
    n, first, last, top_i, top_o = log.row(
        "select count(*), min(ts), max(ts), coalesce(max(i), 0), coalesce(max(o), 0) from log"
    )
    if not log.timed or n == 0:
        first = last = None
    origin = first or 0
    if on_clock:
        origin -= origin % (WINDOW_S * NS_PER_S)
    seconds, gaps, middle = EMPTY, None, None
    if first is not None:
        seconds = _histogram(log, f"(ts - {origin}) // {NS_PER_S}", "ts")
        gaps, middle = _gaps(log, seconds, origin, n)
    exact = "i * o" if top_i * top_o < 1 << 62 else "i::hugeint * o"
    cross, both = log.row(f"select coalesce(sum({exact}), 0), count(i + o) from log")
    whole = Partial(
        n=n,
        bad=bad,
        first_ns=None if first is None else first - origin,
        last_ns=None if first is None else last - origin,
        inputs=_histogram(log, "i", "i"),
        outputs=_histogram(log, "o", "o"),
        joint=_joint(log) if both else {},
        cross=int(cross),
        seconds=seconds,
        gaps=gaps,
        windows=_windows(log, origin, last) if both else None,
    )
    drift = _drift(log, middle, first, last, n)
    return whole, None if first is None else origin, drift


def _histogram(log: _Log, value: str, column: str) -> Histogram:
    values, counts = log.arrays(
        f"select ({value})::bigint v, count(*) c from log where {column} is not null "
        "group by v order by v"
    )
    return Histogram(np.asarray(values, dtype=np.int64), np.asarray(counts, dtype=np.int64))


def _joint(log: _Log) -> dict[tuple[int, int], int]:
    def bins(column: str) -> str:
        return f"case when {column} = 0 then 0 else floor(log2({column}))::bigint + 1 end"

    rows = log.db.execute(
        f"select {bins('i')} a, {bins('o')} b, count(*) from log "
        "where i is not null and o is not null group by a, b"
    ).fetchall()
    return {(int(a), int(b)): int(c) for a, b, c in rows}


def _windows(log: _Log, origin: int, last: int | None) -> Windows:
    width = WINDOW_S * NS_PER_S
    window = f"(ts - {origin}) // {width}" if last is not None else "0"
    got = log.arrays(
        f"select ({window})::bigint w, count(*)::double, sum(i)::double, sum(i::double * i), "
        "sum(o)::double, sum(o::double * i), sum(o::double * o) from log "
        "where i is not null and o is not null group by w order by w"
    )
    place, n, i, ii, o, oi, oo = (np.asarray(column) for column in got)
    span_s = 0.0 if last is None else (last - origin) / NS_PER_S
    return Windows(place.astype(np.int64), n, i, ii, o, oi, oo, span_s)


def _gaps(log: _Log, seconds: Histogram, origin: int, n: int) -> tuple[Gaps, int | None]:
    """Gaps over slices of time, each sorted here; and the arrival at place n // 2."""
    whole: Gaps | None = None
    end, done, middle = None, 0, None
    for low, high in _slices(seconds):
        (stamps,) = log.arrays(
            f"select ts - {origin} from log where ts >= {origin + low * NS_PER_S} "
            f"and ts < {origin + high * NS_PER_S}"
        )
        stamps = np.ascontiguousarray(stamps, dtype=np.int64)
        if len(stamps) == 0:
            continue
        if np.any(stamps[1:] < stamps[:-1]):
            stamps.sort()
        if done <= n // 2 < done + len(stamps):
            middle = int(stamps[n // 2 - done]) + origin
        part = gaps_of(stamps)
        whole = part if whole is None else add_gaps(whole, part, int(stamps[0]) - (end or 0))
        end, done = int(stamps[-1]), done + len(stamps)
    assert whole is not None
    return whole, middle


def _slices(seconds: Histogram) -> list[tuple[int, int]]:
    """Ranges of whole seconds with at most ``SLICE`` arrivals each (one second at least)."""
    ends = np.cumsum(seconds.counts)
    out, start, base = [], 0, 0
    while start < len(ends):
        stop = max(start + 1, int(np.searchsorted(ends, base + SLICE, side="right")))
        out.append((int(seconds.values[start]), int(seconds.values[stop - 1]) + 1))
        start, base = stop, int(ends[stop - 1])
    return out


def _drift(log: _Log, middle: int | None, first: int | None, last: int | None, n: int) -> Drift:
    """Second half over first, cut at the arrival in the middle."""
    if middle is None or first is None or last is None or n < 4:
        return Drift(rate=None, input_mean=None, output_mean=None)
    means = log.row(
        f"select avg(i) filter (ts < {middle}), avg(i) filter (ts >= {middle}), "
        f"avg(o) filter (ts < {middle}), avg(o) filter (ts >= {middle}) from log"
    )
    ratio = [b / a if a and b is not None else None for a, b in (means[:2], means[2:])]
    half = n // 2
    rate = None
    if middle > first and last > middle:
        rate = ((n - half) / (last - middle)) / (half / (middle - first))
    return Drift(rate=rate, input_mean=ratio[0], output_mean=ratio[1])
