"""One request and whatever came back, as it lies in memory and in the spool.

The hot path only appends a stamp and the bytes of a read; the meaning is found later. A spool is
a file of length-prefixed msgpack records that a worker writes as exchanges end.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from seatrial.core.errors import IntegrityError

_LENGTH = struct.Struct("<I")

# How an exchange ended on the wire; what it means is decided in ``answer.judge``.
WHOLE = "whole"  # the HTTP message is complete
EOF = "eof"  # the server closed in order
RESET = "reset"  # the connection broke
STALL = "stall"  # nothing came for longer than the timeout
CANCELLED = "cancelled"  # we closed by plan
OPEN = "open"  # the window ended
REFUSED = "refused"  # no connection
BAD_HTTP = "bad_http"  # what came is not HTTP


class Exchange:
    """An exchange under way: plain slots, no behaviour, cheap to append to.

    ``stamps`` and ``lengths`` are of the reads; ``chunks`` in a row are their bytes, and may hold
    several reads each. ``noticed_ns`` is when the end was seen, at most a tick after ``done_ns``.
    """

    __slots__ = (
        "cancel",
        "chunks",
        "connect_ns",
        "done_ns",
        "error",
        "how",
        "index",
        "lengths",
        "noticed_ns",
        "scheduled_ns",
        "sent_ns",
        "stamps",
        "trailing",
        "watch",
    )

    def __init__(self, index: int, scheduled_ns: int) -> None:
        self.index = index
        self.scheduled_ns = scheduled_ns
        self.sent_ns = -1
        self.connect_ns = -1
        self.done_ns = -1
        self.noticed_ns = -1
        self.how = ""
        self.error = ""
        self.trailing = False
        self.stamps = array("q")
        self.lengths = array("I")
        self.chunks: list[bytes] = []
        self.cancel: object = None
        self.watch: object = None


class RawExchange(msgspec.Struct, frozen=True, array_like=True):
    """A finished exchange in the spool. ``stamps`` are int64, ``lengths`` uint32, native order.

    ``connect_ns`` is the time a connection took that had to be opened for it, -1 if none.
    """

    index: int
    scheduled_ns: int
    sent_ns: int
    connect_ns: int
    done_ns: int
    how: str
    error: str
    trailing: bool
    stamps: bytes
    lengths: bytes
    data: bytes

    def reads(self) -> Iterator[tuple[int, bytes]]:
        """Each read with its stamp, in order."""
        stamps = array("q", self.stamps)
        view = self.data
        start = 0
        for stamp, length in zip(stamps, array("I", self.lengths), strict=True):
            yield stamp, view[start : start + length]
            start += length


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(RawExchange)


def freeze(exchange: Exchange) -> RawExchange:
    """The immutable record of an exchange."""
    return RawExchange(
        exchange.index,
        exchange.scheduled_ns,
        exchange.sent_ns,
        exchange.connect_ns,
        exchange.done_ns,
        exchange.how,
        exchange.error,
        exchange.trailing,
        exchange.stamps.tobytes(),
        exchange.lengths.tobytes(),
        b"".join(exchange.chunks),
    )


def write_record(file: BinaryIO, exchange: Exchange) -> None:
    """Append one exchange to a spool."""
    data = _encoder.encode(freeze(exchange))
    file.write(_LENGTH.pack(len(data)))
    file.write(data)


class Follower:
    """Reads a spool while it is still being written: what is whole so far, then the rest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")

    def take(self, most: int) -> list[RawExchange]:
        """Up to ``most`` further records that are whole already."""
        found: list[RawExchange] = []
        while len(found) < most:
            at = self._file.tell()
            head = self._file.read(_LENGTH.size)
            length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
            data = self._file.read(length) if length else b""
            if not length or len(data) != length:
                self._file.seek(at)
                break
            found.append(_decoder.decode(data))
        return found

    def rest(self) -> Iterator[RawExchange]:
        """Everything that is left, after the writer has ended.

        Raises:
            IntegrityError: the file ends in the middle of a record.
        """
        while more := self.take(1000):
            yield from more
        left = self._path.stat().st_size - self._file.tell()
        self._file.close()
        if left:
            raise IntegrityError(
                "a spool of the load generator ends inside a record",
                where=self._path.name,
                remedy="run the cell again: a worker process was killed while writing",
            )


def read_spool(path: Path) -> Iterator[RawExchange]:
    """All records of a spool, one at a time.

    Raises:
        IntegrityError: the file ends in the middle of a record.
    """
    return Follower(path).rest()
