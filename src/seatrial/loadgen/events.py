"""From body pieces to events: server-sent events and JSON lines.

An event's stamp is that of the piece that completed it. The rules of the event stream are those
of the HTML standard, section 9.2.6 (any of LF, CR LF, CR ends a line; a line that begins with a
colon is a comment; several ``data`` lines are joined by LF), with one leniency: what an ended
stream leaves unfinished is given out too, marked by ``Event.whole`` False.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LINE_END = re.compile(rb"\r\n|\n|\r")
MAX_PENDING = 8 << 20


def sse_events(pieces: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes, bool]]:
    """(stamp, data, whole) of each event that has data.

    The common case, a piece that is exactly one event of one data line, takes the short way.
    """
    pending = b""
    stamp = 0
    for stamp, piece in pieces:
        if not pending and piece[:6] == b"data: " and piece[-2:] == b"\n\n":
            data = piece[6:-2]
            if b"\n" not in data and b"\r" not in data:
                yield stamp, data, True
                continue
        pending += piece
        blocks, pending = _split(pending)
        for block in blocks:
            joined = _data(block)
            if joined is not None:
                yield stamp, joined, True
        if len(pending) > MAX_PENDING:
            break
    if pending.strip():
        joined = _data(pending)
        if joined is not None:
            yield stamp, joined, _LINE_END.sub(b"\n", pending).endswith(b"\n\n")


def _split(buffer: bytes) -> tuple[list[bytes], bytes]:
    """Complete blocks, and the rest. A trailing CR may be half of a CR LF: it waits."""
    if b"\r" not in buffer:
        *blocks, rest = buffer.split(b"\n\n")
        return blocks, rest
    tail = b""
    if buffer.endswith(b"\r"):
        buffer, tail = buffer[:-1], b"\r"
    *blocks, rest = _LINE_END.sub(b"\n", buffer).split(b"\n\n")
    return blocks, rest + tail


def _data(block: bytes) -> bytes | None:
    """The joined data lines of one block, None if it has none."""
    found: list[bytes] = []
    for line in _LINE_END.split(block):
        if line.startswith(b"data:"):
            value = line[5:]
            found.append(value[1:] if value[:1] == b" " else value)
        elif line == b"data":
            found.append(b"")
    return b"\n".join(found) if found else None


def ndjson_events(pieces: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes, bool]]:
    """(stamp, line, whole) of each line that is not empty."""
    pending = b""
    stamp = 0
    for stamp, piece in pieces:
        *lines, pending = (pending + piece).split(b"\n")
        for line in lines:
            if line.strip():
                yield stamp, line, True
        if len(pending) > MAX_PENDING:
            break
    if pending.strip():
        yield stamp, pending, False
