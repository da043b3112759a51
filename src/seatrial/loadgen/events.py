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
    held = _Held()
    stamp = 0
    for stamp, piece in pieces:
        if held.empty and piece[:6] == b"data: " and piece[-2:] == b"\n\n":
            data = piece[6:-2]
            if b"\n" not in data and b"\r" not in data:
                yield stamp, data, True
                continue
        for block in held.blocks(piece):
            joined = _data(block)
            if joined is not None:
                yield stamp, joined, True
        if held.size > MAX_PENDING:
            break
    rest = held.rest()
    if rest.strip():
        joined = _data(rest)
        if joined is not None:
            yield stamp, joined, rest.endswith(b"\n\n")


class _Held:
    """What has come of an event so far, with LF for every line end.

    Looked at once, however many pieces it comes in: a line without end costs what it weighs.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._seen = 0  # no block ends before here
        self._half = False  # the last byte was a CR: half of a CR LF, or a line end by itself

    @property
    def empty(self) -> bool:
        """Nothing is held."""
        return not self._buffer and not self._half

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self._buffer)

    def blocks(self, piece: bytes) -> list[bytes]:
        """Add a piece; the blocks that it completes."""
        if self._half or b"\r" in piece:
            piece = self._with_line_ends(piece)
        buffer = self._buffer
        buffer += piece
        found: list[bytes] = []
        start = 0
        at = buffer.find(b"\n\n", max(0, self._seen - 1))
        while at >= 0:
            found.append(bytes(buffer[start:at]))
            start = at + 2
            at = buffer.find(b"\n\n", start)
        if start:
            del buffer[:start]
        self._seen = len(buffer)
        return found

    def _with_line_ends(self, piece: bytes) -> bytes:
        if self._half:
            piece = b"\r" + piece
        self._half = piece.endswith(b"\r")
        return _LINE_END.sub(b"\n", piece[:-1] if self._half else piece)

    def rest(self) -> bytes:
        """What an ended stream leaves."""
        return bytes(self._buffer) + (b"\n" if self._half else b"")


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
    held = bytearray()
    stamp = 0
    for stamp, piece in pieces:
        held += piece
        if b"\n" in piece:
            *lines, rest = bytes(held).split(b"\n")
            held = bytearray(rest)
            for line in lines:
                if line.strip():
                    yield stamp, line, True
        if len(held) > MAX_PENDING:
            break
    if held.strip():
        yield stamp, bytes(held), False
