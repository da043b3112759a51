"""Fingerprints of logs that do not fit into memory: DuckDB does the passes, sums come back.

A CSV is parsed once into a columnar file in a temporary folder; Parquet is read where it lies.
Then a handful of aggregations run over single columns on all cores, and what goes by time comes
back in slices of at most ``SLICE`` arrivals (one minute at least), ``THREADS`` of them at once.
Memory is bounded by DuckDB's limit and those slices, whatever the size of the log. What needs
whole requests (prefixes, sessions) is not done here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.core.units import NS_PER_S
from seatrial.store import scratch
from seatrial.trace.source import file_sha256
from seatrial.trace.table import SourceFile
from seatrial.workload.columns import Columns
from seatrial.workload.partial import Histogram, Partial
from seatrial.workload.pressure import WINDOW_S, Reference, Windows
from seatrial.workload.profile import Drift, Fingerprint, Refused
from seatrial.workload.slices import MINUTE_NS, Joined, join, read_slice, spans
from seatrial.workload.whole import finish

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SLICE = 2_000_000
THREADS = min(4, len(os.sched_getaffinity(0)))  # more would not bound memory
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
    with hashes, scratch("log", folder) as room:
        db = duckdb.connect(str(room / "log.db"))
        try:
            _limits(db, room)
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
    db.execute("set parquet_metadata_cache=true")  # slices read the same footers again
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
    exact = "i * o" if top_i * top_o < 1 << 62 else "i::hugeint * o"
    cross, both = log.row(f"select coalesce(sum({exact}), 0), count(i + o) from log")
    inputs, outputs = _histogram(log, "i", "i"), _histogram(log, "o", "o")
    joint = _joint(log) if both else {}
    joined = None if first is None else _in_slices(log, origin, last, n)
    windows = None
    if both:
        windows = _untimed(log) if joined is None else joined.windows
    whole = Partial(
        n=n,
        bad=bad,
        first_ns=None if first is None else first - origin,
        last_ns=None if first is None else last - origin,
        inputs=inputs,
        outputs=outputs,
        joint=joint,
        cross=int(cross),
        seconds=EMPTY if joined is None else joined.seconds,
        gaps=None if joined is None else joined.gaps,
        windows=windows,
    )
    return whole, None if first is None else origin, _drift(joined, whole)


def _in_slices(log: _Log, origin: int, last: int, n: int) -> Joined:
    """Everything that goes by time, slices side by side on ``THREADS`` cores."""
    minutes = _histogram(log, f"(ts - {origin}) // {MINUTE_NS}", "ts")
    with ThreadPoolExecutor(THREADS) as pool:
        slices = pool.map(
            lambda span: read_slice(log.db, origin, span, n // 2), spans(minutes, SLICE)
        )
        return join(list(slices), (last - origin) / NS_PER_S)


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


def _untimed(log: _Log) -> Windows:
    """One window of all requests, where there are no times."""
    got = log.arrays(
        "select count(*)::double, sum(i)::double, sum(i::double * i), "
        "sum(o)::double, sum(o::double * i), sum(o::double * o) from log "
        "where i is not null and o is not null"
    )
    n, i, ii, o, oi, oo = (np.asarray(column) for column in got)
    return Windows(np.zeros(1, dtype=np.int64), n, i, ii, o, oi, oo, 0.0)


def _drift(joined: Joined | None, whole: Partial) -> Drift:
    """Second half over first, cut at the arrival in the middle."""
    n, first, last = whole.n, whole.first_ns, whole.last_ns
    if joined is None or joined.middle is None or first is None or last is None or n < 4:
        return Drift(rate=None, input_mean=None, output_mean=None)
    a, b = joined.halves
    half, middle = n // 2, joined.middle
    rate = None
    if middle > first and last > middle:
        rate = ((n - half) / (last - middle)) / (half / (middle - first))
    return Drift(
        rate=rate,
        input_mean=_ratio(b.i, b.n_i, a.i, a.n_i),
        output_mean=_ratio(b.o, b.n_o, a.o, a.n_o),
    )


def _ratio(above: int, n_above: int, below: int, n_below: int) -> float | None:
    return (above / n_above) / (below / n_below) if below and n_above else None
