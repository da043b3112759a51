"""One request and whatever came back, as it lies in memory and in the spool.

The hot path only appends a stamp and the bytes of a read; the meaning is found later. A worker
writes exchanges to its spool as they end.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import msgspec

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
