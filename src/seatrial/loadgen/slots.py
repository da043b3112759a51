"""Buffers of the compiled reader, one slot per connection, and their way into an exchange."""

from __future__ import annotations

import contextlib
import importlib.util
import platform
import select
import socket
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from seatrial.loadgen.reactor import _TIMESTAMPNS

if TYPE_CHECKING:
    from seatrial.loadgen.wire import Connection

_ALL_BYTES = 64 << 20
_SLOT_BYTES = 16_384, 131_072  # the larger a slot, the fewer hand-overs within a long answer
_BYTES_A_READ = 256
_FEW = 64  # slots at first, unless more are expected; doubled when they run out
_SLACK_NS = 100_000  # between two readings of two clocks


class Slots:
    """Where the compiled reader puts what it reads, by connection.

    ``fill`` bytes and ``count`` reads of a slot are not yet part of its exchange.
    """

    def __init__(self, epoll: int, expected: int = 0) -> None:
        from seatrial.loadgen import drain

        self._drain = drain
        self._epoll = epoll
        self.connections: list[Connection | None] = []
        self._free: list[int] = []
        self._by_fd = np.full(1024, -1, np.int32)
        self._call = np.zeros(16, np.int64)
        self._events = np.zeros(drain.MAX_EVENTS * 16, np.uint8)
        self._handed = np.zeros((2 * drain.MAX_EVENTS, 3), np.int64)
        self._book = np.zeros(len(drain.BOOK), np.int64)
        least, most = _SLOT_BYTES
        slots = max(expected, _FEW)
        self._bytes = min(max(_ALL_BYTES // slots, least), most)
        self._allocate(slots)

    def _allocate(self, slots: int) -> None:
        """Room for so many connections; what is there is kept."""
        old = len(self.connections)
        fresh: dict[str, Any] = {
            "data": np.zeros((slots, self._bytes), np.uint8),
            "stamps": np.zeros((slots, self._bytes // _BYTES_A_READ), np.int64),
            "lengths": np.zeros((slots, self._bytes // _BYTES_A_READ), np.uint32),
            "fill": np.zeros(slots, np.int64),
            "count": np.zeros(slots, np.int64),
            "eager": np.ones(slots, np.uint8),
        }
        for name, array in fresh.items():
            if old:
                array[:old] = getattr(self, name)
            setattr(self, name, array)
        self.connections += [None] * (slots - old)
        self._free += range(slots - 1, old - 1, -1)
        self._enter_book()

    def _enter_book(self) -> None:
        """Say where everything lies now."""
        sizes = [self._epoll, self._by_fd.size, *self.data.shape, self.stamps.shape[1]]
        arrays = [
            self._by_fd, self.data, self.stamps, self.lengths, self.fill, self.count, self.eager,
            self._call, self._events, self._handed,
        ]  # fmt: skip
        self._book[:] = [*sizes, *(array.ctypes.data for array in arrays)]

    data: Any
    stamps: Any
    lengths: Any
    fill: Any
    count: Any
    eager: Any

    def take(self, connection: Connection, fd: int) -> int:
        """A slot for a connection."""
        if not self._free:
            self._allocate(2 * len(self.connections))
        if fd >= self._by_fd.size:
            grown = np.full(2 * fd, -1, np.int32)
            grown[: self._by_fd.size] = self._by_fd
            self._by_fd = grown
            self._enter_book()
        slot = self._free.pop()
        self._by_fd[fd] = slot
        self.connections[slot] = connection
        self.fill[slot] = self.count[slot] = 0
        self.eager[slot] = 1
        return slot

    def give_back(self, slot: int, fd: int) -> None:
        """The connection is gone."""
        self._by_fd[fd] = -1
        self.connections[slot] = None
        self._free.append(slot)

    def read_all(self, offset: int, tick: int, until: int) -> tuple[int, int, list[list[int]]]:
        """Read all sockets, as ``drain.drain`` has it: how many reads, delay, what to look at."""
        found, out, waited = self._drain.drain(self._book, offset, tick, until)
        return found, waited, self._handed[:out].tolist() if out else []

    def read_one(self, fd: int, slot: int, now: int, offset: int) -> tuple[int, int]:
        """One more read of one socket: what it must be looked at for (-1: nothing), and errno."""
        what, code = self._drain.receive(self._book, fd, slot, now, offset)
        return int(what), int(code)

    def heard_since(self, moment: int) -> set[Connection]:
        """Connections whose slot holds a read of that moment or later."""
        holding = np.flatnonzero(self.count)
        last = self.stamps[holding, self.count[holding] - 1]
        found = (self.connections[slot] for slot in holding[last >= moment].tolist())
        return {connection for connection in found if connection is not None}

    def settle(self, slot: int) -> tuple[bytes, bytes, bytes]:
        """Take what a slot holds: its bytes, its stamps (int64) and lengths (uint32) as bytes."""
        fill, count = self.fill[slot], self.count[slot]
        self.fill[slot] = self.count[slot] = 0
        return (
            self.data[slot, :fill].tobytes(),
            self.stamps[slot, :count].tobytes(),
            self.lengths[slot, :count].tobytes(),
        )


@cache
def works() -> bool:
    """Whether the compiled reader reads a loopback connection right on this machine."""
    fits = sys.platform == "linux" and sys.maxsize > 2**32 and sys.byteorder == "little"
    if not fits or platform.libc_ver()[0] != "glibc" or importlib.util.find_spec("numba") is None:
        return False
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        epoll = stack.enter_context(select.epoll())
        client = stack.enter_context(socket.create_connection(server.getsockname(), timeout=1))
        peer = stack.enter_context(server.accept()[0])
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
        return _reads_right(client, peer, epoll)


def _reads_right(client: socket.socket, peer: socket.socket, epoll: select.epoll) -> bool:
    from seatrial.loadgen import drain

    epoll.register(client.fileno(), drain.INTEREST)
    slots = Slots(epoll.fileno())
    slot = slots.take(None, client.fileno())  # type: ignore[arg-type]
    slots.eager[slot] = 0
    offset = time.time_ns() - time.perf_counter_ns()
    for text in (b"one", b"seven letters"):
        before = time.perf_counter_ns()
        peer.sendall(text)
        for _ in range(200):  # on a busy machine it takes its time
            found, _, handed = slots.read_all(offset, 0, 0)
            if found:
                break
            time.sleep(0.001)
        data, stamps, _ = slots.settle(slot)
        stamp = int.from_bytes(stamps[:8], sys.byteorder)
        expected = [[slot, 0, 0]] if len(text) < 7 else []
        right = data == text and handed == expected
        if not right or not before - _SLACK_NS <= stamp <= time.perf_counter_ns():
            return False
    return True
