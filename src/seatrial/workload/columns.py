"""Which columns of a CSV or Parquet file hold arrivals and lengths, as DuckDB is told.

Times become integer nanoseconds without passing through a float: ISO text as TIMESTAMP_NS, with a
zone as TIMESTAMPTZ, numbers as decimals. A row in which a named column cannot be read is refused
and counted; DuckDB names its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.core.errors import UsageError
from seatrial.trace.formats import azure_csv, generic, lengths, vidur
from seatrial.trace.formats.parquet import head_of
from seatrial.trace.reader import Head, Options, look
from seatrial.trace.source import members
from seatrial.trace.timestamp import UNIT_NS, epoch_unit, iso_ns
from seatrial.workload.profile import Refused

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SUFFIXES = (".csv", ".csv.gz", ".csv.zst", ".parquet")
_SHOWN = 10
_GAPS = (
    "sessions", "TTFT", "latency", "model", "clients", "outcomes", "prefix blocks",
    "request features",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns by name; None where the files have none.

    Attributes:
        kind: ``csv`` or ``parquet``. names: all columns of a CSV, in order.
        time_type: DuckDB's type of the time column; unit: of a number in it.
        compression: of a CSV, as DuckDB spells it.
    """

    format: str
    kind: str
    names: tuple[str, ...]
    time: str | None
    input: str | None
    output: str | None
    time_type: str = "TIMESTAMP_NS"
    unit: str = "s"
    compression: str = "none"
    grain_ns: int = 1
    notes: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """What the fingerprint will lack."""
        gaps = [w for c, w in ((self.time, "arrival times"), (self.input, "input tokens"),
                               (self.output, "output tokens")) if c is None]  # fmt: skip
        return [*gaps, *_GAPS]

    def open(self, db: DuckDBPyConnection, paths: Sequence[Path]) -> tuple[int, list[Refused]]:
        """Make the relation ``log(ts, i, o)``; returns (rows refused, the first ten of them)."""
        listed = "[" + ", ".join(_text(str(path)) for path in paths) + "]"
        picked = ", ".join(
            f"{value} as {name}"
            for name, value in (
                ("ts", self._time_ns()),
                ("i", self._tokens(self.input)),
                ("o", self._tokens(self.output)),
            )
        )
        if self.kind == "parquet":
            db.execute(f"create view raw as select {picked} from read_parquet({listed})")
            return self._keep(db), []
        db.execute(
            f"create table raw as select {picked} from read_csv({listed}, header=true, "
            f"auto_detect=false, delim=',', quote='\"', escape='\"', columns={self._types()}, "
            f"compression={_text(self.compression)}, store_rejects=true, rejects_limit=100000, "
            "max_line_size=1048576, ignore_errors=true)"
        )
        bad, refused = self._rejected(db)
        return bad + self._keep(db), refused

    def _keep(self, db: DuckDBPyConnection) -> int:
        """Leave out rows without a time or with a negative number; counts them."""
        good = " and ".join(
            [f"({c} is null or {c} between 0 and {1 << 40})" for c in ("i", "o")]
            + (["ts is not null"] if self.time is not None else [])
        )
        found = db.execute(
            f"select (select count(*) from raw) - (select count(*) from raw where {good})"
        ).fetchone()
        bad = int(found[0]) if found else 0
        db.execute("create view log as select * from raw" + (f" where {good}" if bad else ""))
        return bad

    def _rejected(self, db: DuckDBPyConnection) -> tuple[int, list[Refused]]:
        total = db.execute("select count(distinct (file_id, line)) from reject_errors").fetchone()
        first = db.execute(
            "select parse_filename(s.file_path), e.line, any_value(lower(e.error_type::varchar)), "
            "any_value(e.column_name) from reject_errors e join reject_scans s using (scan_id, "
            f"file_id) group by 1, 2 order by 1, 2 limit {_SHOWN}"
        ).fetchall()
        shown = [
            Refused(file=str(name), line=int(line), why=f"{why}: column {column or '?'}")
            for name, line, why, column in first
        ]
        return int(total[0]) if total else 0, shown

    def _types(self) -> str:
        parts = []
        for name in self.names:
            kind = "VARCHAR"
            if name == self.time:
                kind = self.time_type
            elif name in (self.input, self.output):
                kind = "BIGINT"
            parts.append(f"{_text(name)}: {_text(kind)}")
        return "{" + ", ".join(parts) + "}"

    def _time_ns(self) -> str:
        if self.time is None:
            return "null::bigint"
        column = _name(self.time)
        if self.time_type.startswith("TIMESTAMP"):
            return f"epoch_ns({column})"
        per = UNIT_NS[self.unit]
        if not self.time_type.startswith("DECIMAL"):
            return f"({column} * {per})::bigint"
        whole = f"floor({column})"  # apart, so that no product leaves 18 digits
        return f"{whole}::bigint * {per} + (({column} - {whole}) * {per})::bigint"

    def _tokens(self, column: str | None) -> str:
        return "null::bigint" if column is None else f"{_name(column)}::bigint"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def recognise(paths: Sequence[Path], mapping: dict[str, str]) -> Columns | None:
    """The columns of these files; None where they are no flat CSV or Parquet known here."""
    if not paths or not all(path.name.lower().endswith(_SUFFIXES) for path in paths):
        return None
    parquet = [path.name.lower().endswith(".parquet") for path in paths]
    if all(parquet):
        return _parquet(paths[0], mapping)
    return None if any(parquet) else _csv(paths[0], mapping)


def _csv(path: Path, mapping: dict[str, str]) -> Columns | None:
    member = next(iter(members(path)), None)
    if member is None:
        return None
    head = look(member)
    if not head.header or len(set(head.header)) != len(head.header):
        return None
    known = {r.id: r for r in (azure_csv.READER, vidur.READER, lengths.READER)}
    found = next((r.id for r in known.values() if not mapping and r.sniff(head)), "generic")
    chosen = generic.columns_of(head, Options(mapping=mapping))
    if "input_tokens" not in chosen and "output_tokens" not in chosen:
        return None
    if set(chosen) - {"arrival", "arrival_unit", "input_tokens", "output_tokens"}:
        return None  # sessions and labels need whole requests
    time = chosen.get("arrival")
    row = _first_row(head)
    if row is None:
        return None
    kind, unit, grain = _time_type(head, row, time, chosen.get("arrival_unit"))
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower(), "none")
    return Columns(
        format=found,
        kind="csv",
        names=head.header,
        time=time,
        input=chosen.get("input_tokens"),
        output=chosen.get("output_tokens"),
        time_type=kind,
        unit=unit,
        compression=compression,
        grain_ns=100 if found == "azure-csv" else grain,
        notes=(generic.SECONDS,) if _guessed(kind, unit, chosen, found) else (),
    )


def _guessed(kind: str, unit: str, chosen: dict[str, str], found: str) -> bool:
    """Whether seconds were assumed: a generic file, numbers, no epoch, no unit given."""
    plain = kind == "DECIMAL(18,9)" and unit == "s" and "arrival_unit" not in chosen
    return found == "generic" and plain


def _first_row(head: Head) -> list[str] | None:
    """The first row after the header; None where it is no CSV (a field without end)."""
    import csv

    lines = head.data.decode("utf-8", "replace").splitlines()[1:2]
    try:
        return next(csv.reader(lines), [])
    except csv.Error:
        return None


def _time_type(
    head: Head, row: list[str], time: str | None, unit: str | None
) -> tuple[str, str, int]:
    """(DuckDB's type, unit of a number, grain in ns) of the time column, from the first row."""
    if time is None:
        return "VARCHAR", "s", 1
    place = head.header.index(time)
    text = row[place].strip() if place < len(row) else ""
    try:
        iso_ns(text)
    except ValueError:
        pass
    else:
        zoned = text.endswith(("Z", "z")) or "+" in text[10:] or "-" in text[10:]
        return ("TIMESTAMPTZ", "s", 1_000) if zoned else ("TIMESTAMP_NS", "s", 1)
    try:
        number = float(text)
    except ValueError:
        return "TIMESTAMP_NS", "s", 1
    unit = unit or epoch_unit(number) or "s"
    if unit != "s":
        return "BIGINT" if text.isdigit() else "DECIMAL(18,3)", unit, 1
    return ("DECIMAL(18,6)" if number >= 1e8 else "DECIMAL(18,9)"), "s", 1


def _parquet(path: Path, mapping: dict[str, str]) -> Columns | None:
    import duckdb

    with duckdb.connect() as db:
        try:
            described = db.execute(
                f"describe select * from read_parquet({_text(str(path))})"
            ).fetchall()
            types = {str(name): str(kind) for name, kind, *_ in described}
            head = head_of(path.name, list(types))
            chosen = generic.columns_of(head, Options(mapping=mapping))
            time = chosen.get("arrival")
            first = None
            if time is not None:
                row = db.execute(
                    f"select {_name(time)} from read_parquet({_text(str(path))}) limit 1"
                ).fetchone()
                first = row[0] if row else None
        except duckdb.Error as error:
            raise UsageError(
                "this is no Parquet file that can be read",
                where=path.name,
                remedy="check the file",
            ) from error
    if "input_tokens" not in chosen and "output_tokens" not in chosen:
        return None
    if set(chosen) - {"arrival", "arrival_unit", "input_tokens", "output_tokens"}:
        return None
    kind = types.get(time or "", "")
    unit = chosen.get("arrival_unit")
    if not kind.startswith("TIMESTAMP"):
        unit = unit or (epoch_unit(float(first)) if isinstance(first, (int, float)) else None)
    return Columns(
        format="generic",
        kind="parquet",
        names=tuple(types),
        time=time,
        input=chosen.get("input_tokens"),
        output=chosen.get("output_tokens"),
        time_type=kind,
        unit=unit or "s",
    )
