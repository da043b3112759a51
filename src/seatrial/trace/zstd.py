"""Zstandard without a dependency of its own.

Python has it from 3.14 on. Before that DuckDB, which is here anyway, unpacks text line by line;
a tar inside a .zst is then out of reach and the error says so.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO, cast

from seatrial.core.errors import UsageError

_BATCH = 10_000


class _Lines:
    """Lines of a text file that DuckDB unpacks, as a stream of bytes."""

    def __init__(self, path: Path) -> None:
        import duckdb

        self._error = duckdb.Error
        self._rows = duckdb.connect()
        self._left = b""
        literal = "'" + str(path).replace("'", "''") + "'"
        self._rows.execute(
            "select line from read_csv(" + literal + ", columns={'line': 'VARCHAR'}, header=false,"
            " auto_detect=false, delim=chr(31), quote='', escape='', compression='zstd',"
            " max_line_size=67108864, parallel=false, null_padding=true, nullstr=chr(30))"
        )

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        if not self._left:
            try:
                batch = self._rows.fetchmany(_BATCH)
            except self._error:
                raise EOFError from None
            self._left = b"".join((line or "").encode() + b"\n" for (line,) in batch)
        data, self._left = self._left[:size], self._left[size:]
        return data


def open_zstd(raw: BinaryIO, path: Path) -> BinaryIO:
    """The unpacked bytes of a zstd file.

    Raises:
        UsageError: it cannot be unpacked here.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd

        return cast(BinaryIO, zstd.open(raw, "rb"))
    import duckdb

    try:
        return cast(BinaryIO, _Lines(path))
    except duckdb.Error as error:
        raise UsageError(
            "this zstd file cannot be unpacked as text",
            where=path.name,
            remedy="unpack it (zstd -d), or use Python 3.14",
        ) from error
