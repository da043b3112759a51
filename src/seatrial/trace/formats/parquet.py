"""Parquet with token counts: columns by their usual names, or by a mapping, as in ``generic``.

Read in batches; times may be TIMESTAMP columns (then to the microsecond) or numbers.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from seatrial.core.errors import UsageError
from seatrial.trace.formats import generic
from seatrial.trace.reader import Head, Options, Reader
from seatrial.trace.record import safely
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

_BATCH = 20_000


def _sniff(head: Head) -> int:
    return 100 if head.data[:4] == b"PAR1" else 0


def _read(member: Member, rows: Rows, options: Options) -> None:
    import duckdb

    if member.path is None:
        raise UsageError(
            "Parquet inside an archive or compressed once more is not read",
            where=member.name,
            remedy="unpack it and give the file",
        )
    name = "'" + str(member.path).replace("'", "''") + "'"
    with duckdb.connect() as db:
        try:
            db.execute(f"select * from read_parquet({name})")
            columns = [str(item[0]) for item in db.description or ()]
            flat = generic.flat_of(head_of(member.name, columns), options)
            line = 0
            while batch := db.fetchmany(_BATCH):
                for values in batch:
                    line += 1
                    record = {c: _plain(v) for c, v in zip(columns, values, strict=True)}
                    safely(line, record, rows, flat.add)
        except duckdb.Error as error:
            raise UsageError(
                "this is no Parquet file that can be read", where=member.name, remedy="check it"
            ) from error


def head_of(name: str, columns: list[str]) -> Head:
    """A head with these columns, as the generic reader looks at them."""
    line = ",".join('"' + column.replace('"', '""') + '"' for column in columns)
    return Head(name, "", line.encode() + b"\n")


def _plain(value: Any) -> Any:
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value


READER = Reader(
    id="parquet",
    title="Parquet with token counts (columns by usual names or --map)",
    tested=True,
    sniff=_sniff,
    read=_read,
)
