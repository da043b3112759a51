"""Reads plain sockets in batches, with the kernel's time of arrival on every read.

Linux stamps a packet when it arrives (SO_TIMESTAMPNS), whenever it is read. So a read may wait
for its neighbours: while answers stream, sockets are polled once a millisecond and all that came
is read in one go, which saves a wake-up per token and costs no accuracy. How long a read had to
wait is the receive-queue delay; it is reported. Where there are no such stamps (TLS, other
systems) the time is taken at the read, and nothing is ever held back.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct
import time
from array import array
from typing import TYPE_CHECKING

from seatrial.core.errors import PrerequisiteError
from seatrial.core.timer import Timer
from seatrial.core.units import NS_PER_S

if TYPE_CHECKING:
    from seatrial.loadgen.plan import Load
    from seatrial.loadgen.wire import Connection, SocketLink

_clock = time.perf_counter_ns
_TIMESTAMPNS = 35  # SO_TIMESTAMPNS of asm-generic/socket.h: not in Python's socket module
_unpack = struct.Struct("qq").unpack
READ_BYTES = 4096
COMPILED_FROM = 32
"""Connections of a worker from which on the compiled reader is used."""
_TICK_NS = 1_000_000
_BATCH = 256
_RESYNC_NS = 100_000_000
_QUIET_TICKS = 8


class WallOffset:
    """wall clock - monotonic clock, kept fresh: kernel stamps are of the wall clock."""

    def __init__(self) -> None:
        self.ns = 0
        self._next_ns = 0
        for _ in range(5):
            self._measure()

    def at(self, now: int) -> int:
        """The offset; measured anew ten times a second."""
        if now >= self._next_ns:
            self._measure()
        return self.ns

    def _measure(self) -> None:
        """Bracket one reading by two of the other clock; a preempted reading is thrown away."""
        before = _clock()
        wall = time.time_ns()
        after = _clock()
        if after - before < 10_000 or not self.ns:
            self.ns = wall - (before + after) // 2
            self._next_ns = after + _RESYNC_NS


def open_reactor(loop: asyncio.AbstractEventLoop, load: Load) -> Reactor:
    """The reactor for a load. Few connections do not repay the second that numba takes to load."""
    most = max(load.connections, load.max_in_flight)
    if load.reader == "compiled" or (load.reader == "auto" and most >= COMPILED_FROM):
        from seatrial.loadgen import slots

        if slots.works() and _can_stamp():
            from seatrial.loadgen.compiled_reactor import CompiledReactor

            return CompiledReactor(loop, most)
        if load.reader == "compiled":
            raise PrerequisiteError(
                "the compiled reader does not work here",
                where="loadgen",
                unchanged="nothing was sent",
                remedy="install the extra `fast` on 64-bit Linux, or leave `reader` at auto",
            )
    return Reactor(loop)


class Reactor:
    """The sockets of one worker and the moment at which they are read.

    Attributes:
        kernel_stamps: whether arrival times come from the kernel.
        delays_ns: receive-queue delay of one read per batch; -1 where the kernel gave no stamp.
        tick_ns: how often sockets are read while answers stream.
        stay_ns: how long reading may keep the event loop waiting at most.
        opening: connections that the event loop is opening.
    """

    tick_ns = _TICK_NS
    stay_ns = 0

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoll = select.epoll()
        self._connections: dict[int, Connection] = {}
        self._offset = WallOffset()
        self._timer = Timer(loop, self._tick)
        self._listening = False
        self._quiet = 0
        self.kernel_stamps = _can_stamp()
        self.delays_ns = array("q")
        self.opening = 0
        self._listen()

    def add(self, connection: SocketLink, sock: socket.socket) -> None:
        """Read this socket from now on."""
        if self.kernel_stamps:
            sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
        self._connections[sock.fileno()] = connection
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def remove(self, sock: socket.socket) -> None:
        """Forget a socket that is about to be closed."""
        if self._connections.pop(sock.fileno(), None) is not None:
            self._epoll.unregister(sock.fileno())

    def want_write(self, sock: socket.socket, wanted: bool) -> None:
        """Be told when the socket takes more."""
        mask = select.EPOLLIN | (select.EPOLLOUT if wanted else 0)
        self._epoll.modify(sock.fileno(), mask)

    def look_at_each(self, fd: int, eager: bool) -> None:
        """Whether every read of this socket must be looked at: here the connection tells."""

    def pace(self, answer_ns: int, reads: int) -> None:
        """Told how long each answer took, in how many reads: here the rhythm is fixed."""

    def heard_since(self, moment: int) -> set[Connection]:
        """Connections of which something unsettled has come since then."""
        return set()

    def settle(self, fd: int) -> None:
        """Make what was read part of the exchange: here it is already."""

    def _listen(self) -> None:
        if not self._listening:
            self._loop.add_reader(self._epoll.fileno(), self._readable)
            self._listening = True

    def _readable(self) -> None:
        """Something came after a silence: read it, then go over to ticks."""
        if self._drain() and self.kernel_stamps and self._timer.exact:
            self._loop.remove_reader(self._epoll.fileno())
            self._listening = False
            self._quiet = 0
            self._timer.every(self.tick_ns)

    def _tick(self) -> None:
        """Read what came in the last millisecond; after some empty ones wait for the sockets."""
        found = self._drain()
        while found == _BATCH:
            found = self._drain()
        if found:
            self._quiet = 0
            return
        self._quiet += 1
        if self._quiet > _QUIET_TICKS:
            self._timer.stop()
            self._listen()

    def _drain(self) -> int:
        """Read every socket that has something; the hot path of the whole load generator."""
        events = self._epoll.poll(0, _BATCH)
        now = _clock()
        offset = self._offset.at(now)
        connections = self._connections
        stamp = now
        for fd, mask in events:
            connection = connections.get(fd)
            if connection is None:
                continue
            if mask & select.EPOLLOUT:
                connection.flush()
                if not mask & select.EPOLLIN:
                    continue
            try:
                data, extra, _, _ = connection.recvmsg(READ_BYTES, 64)
            except BlockingIOError:
                continue
            except OSError as error:
                connection.broken(error)
                continue
            if extra:
                seconds, nanoseconds = _unpack(extra[0][2])
                stamp = seconds * NS_PER_S + nanoseconds - offset
                if stamp > now:
                    stamp = now
            else:
                stamp = now
            exchange = connection.exchange
            if exchange is None or not data:
                connection.odd(data)
                continue
            exchange.stamps.append(stamp)
            exchange.lengths.append(len(data))
            exchange.chunks.append(data)
            if connection.eager:
                connection.look(exchange)
            elif data[-4:] == b"\r\n\r\n" or len(data) < 7:
                connection.maybe_over(exchange, data)
        if events:
            self.delays_ns.append(now - stamp)
        return len(events)

    def close(self) -> None:
        """Stop reading."""
        self._timer.close()
        if self._listening:
            self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()


def _can_stamp() -> bool:
    """Whether this kernel stamps what a TCP socket receives; asked of a loopback connection."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            client = stack.enter_context(socket.create_connection(server.getsockname(), timeout=1))
            client.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
            peer = stack.enter_context(server.accept()[0])
            for _ in range(3):
                peer.sendall(b"x")
                extra = client.recvmsg(1, 64)[1]
                if extra and extra[0][1] == _TIMESTAMPNS and len(extra[0][2]) == 16:
                    return True
                time.sleep(0.002)
        except (OSError, AttributeError):
            return False
    return False
