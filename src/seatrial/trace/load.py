"""``trace.load``: files of any known format in, one table out.

The format is guessed from the first bytes of each file unless it is given. Several files, globs,
folders and archives make one trace, as long as they are of one format.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.trace.formats import readers
from seatrial.trace.hints import misplaced, unknown
from seatrial.trace.reader import Head, Options, Reader, look
from seatrial.trace.rows import Rows, TokenCounter
from seatrial.trace.source import STREAM_ERRORS, Member, expand, file_sha256, members
from seatrial.trace.table import RequestTable


def load(
    paths: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    mapping: dict[str, str] | None = None,
    count: TokenCounter | None = None,
    progress: Progress | None = None,
) -> RequestTable:
    """Read a trace into memory.

    Args:
        paths: files, globs, folders or archives; together one trace.
        format: id of a reader, or None to recognise it.
        mapping: for the generic reader: our field -> their column.
        count: tokens of a text, for sources that carry texts without counts.

    Raises:
        UsageError: no such file, unknown format, a file that is not what it claims, or one in
            which no row can be read.
    """
    options = Options(mapping=dict(mapping or {}))
    sink = progress or Silent()
    forced = _forced("generic" if mapping and format is None else format)
    rows = Rows("", count)
    reader = forced
    files = expand(paths)
    for path in files:
        sink.step("trace", f"reading {path.name}")
        rows.begin_file(path.name)
        try:
            for member in members(path):
                if not member.head():
                    continue
                reader = reader or recognise(look(member))
                _check(member, reader, forced)
                reader.read(member, rows, options)
        except STREAM_ERRORS as error:
            raise _damaged(path, error) from error
        rows.end_file(file_sha256(path))
    if reader is None:
        raise UsageError(
            "there is nothing in the file" if len(files) == 1 else "there is nothing in the files",
            where=files[0].name,
            remedy="give a file with requests in it",
        )
    rows.format = reader.id
    rows.missing.extend(reader.missing)
    return _closed(rows, reader)


def _closed(rows: Rows, reader: Reader) -> RequestTable:
    table = rows.build()
    if table.n == 0:
        shown = "; ".join(f"line {bad.line}: {bad.why}" for bad in table.bad_rows[:3])
        raise UsageError(
            f"no request could be read as {reader.id} ({rows.bad_count} rows refused)",
            where=shown,
            remedy="check the file, or force another reader with --format",
        )
    return table


def _forced(format_id: str | None) -> Reader | None:
    if format_id is None:
        return None
    known = readers()
    if format_id not in known:
        from difflib import get_close_matches

        near = get_close_matches(format_id, known, n=1)
        raise UsageError(
            f"no reader for format {format_id!r}" + (f"; did you mean {near[0]}?" if near else ""),
            remedy=f"use one of: {', '.join(known)}",
        )
    return known[format_id]


def recognise(head: Head) -> Reader:
    """The reader that knows this beginning.

    Raises:
        UsageError: none does, or two are equally sure.
    """
    scores = sorted(
        ((reader.sniff(head), reader) for reader in readers().values()),
        key=lambda pair: -pair[0],
    )
    best = [reader for score, reader in scores if score == scores[0][0]]
    if error := misplaced(head):
        raise error
    if scores[0][0] == 0:
        raise unknown(head)
    if len(best) > 1:
        raise UsageError(
            f"the file could be {' or '.join(reader.id for reader in best)}",
            where=head.name,
            remedy="say which with --format",
        )
    return best[0]


def _check(member: Member, reader: Reader, forced: Reader | None) -> None:
    if forced is None and reader.sniff(look(member)) == 0:
        raise UsageError(
            f"a file of another kind among {reader.id} files",
            where=member.name,
            remedy="give files of one format, or force it with --format",
        )


def _damaged(path: Path, error: Exception) -> UsageError:
    return UsageError(
        f"the compressed file is damaged or cut short ({type(error).__name__})",
        where=path.name,
        remedy="fetch or write it again",
    )
