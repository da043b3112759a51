"""The reactor with the compiled inner loop (``drain``): Python sees ends of answers, not tokens.

Same sockets, same stamps, same order as ``reactor.Reactor``; a token costs its system calls and
little else. What lies in a slot becomes part of its exchange when somebody looks: at an end, at a
full buffer, at the sweep for silent streams.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
from typing import TYPE_CHECKING

from seatrial.core.timer import earliest_ns
from seatrial.loadgen.reactor import _TIMESTAMPNS, Reactor, _clock
from seatrial.loadgen.slots import Slots

if TYPE_CHECKING:
    from seatrial.loadgen.wire import Connection, SocketLink


_QUIET_NS = 10_000_000
_TICKS_NS = 1_000_000, 4_000_000
_TICKS_AN_ANSWER = 500


class CompiledReactor(Reactor):
    """Reads all sockets of a worker in a compiled loop, a round a tick of 1 to 4 ms."""

    tick_ns = 2_000_000
    stay_ns = 50_000_000  # exact timers end it earlier

    def __init__(self, loop: asyncio.AbstractEventLoop, connections: int = 0) -> None:
        from seatrial.loadgen import drain

        super().__init__(loop)
        self._drained = drain
        self._slots = Slots(self._epoll.fileno(), connections)
        self._slot_of: dict[int, int] = {}
        self._last_ns = 0
        self._wanted_ns = self.tick_ns

    def pace(self, answer_ns: int, reads: int) -> None:
        """Read so often that an end is seen within some thousandths of a usual answer's time.

        And twice between two reads of one stream: a server that leaves Nagle's algorithm on holds
        its next small segment until the last one is acknowledged, which our read does.
        """
        wanted = answer_ns // max(_TICKS_AN_ANSWER, 2 * reads)
        self._wanted_ns += (wanted - self._wanted_ns) // 16
        shortest, longest = _TICKS_NS
        self.tick_ns = min(max(self._wanted_ns, shortest), longest)

    def add(self, connection: SocketLink, sock: socket.socket) -> None:
        """Read this socket from now on."""
        sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
        fd = sock.fileno()
        self._slot_of[fd] = self._slots.take(connection, fd)
        self._epoll.register(fd, self._drained.INTEREST)

    def remove(self, sock: socket.socket) -> None:
        """Forget a socket that is about to be closed."""
        fd = sock.fileno()
        slot = self._slot_of.pop(fd, None)
        if slot is not None:
            self._epoll.unregister(fd)
            self._slots.give_back(slot, fd)

    def want_write(self, sock: socket.socket, wanted: bool) -> None:
        """Be told when the socket takes more."""
        mask = self._drained.INTEREST | (select.EPOLLOUT if wanted else 0)
        self._epoll.modify(sock.fileno(), mask)

    def look_at_each(self, fd: int, eager: bool) -> None:
        """Whether every read of this socket must be looked at."""
        slot = self._slot_of.get(fd)
        if slot is not None:
            self._slots.eager[slot] = eager

    def heard_since(self, moment: int) -> set[Connection]:
        """Connections of which something unsettled has come since then."""
        return self._slots.heard_since(moment)

    def settle(self, fd: int) -> None:
        """Make what was read part of the exchange."""
        slot = self._slot_of.get(fd)
        if slot is not None and self._slots.count[slot]:
            connection = self._slots.connections[slot]
            assert connection is not None
            self._enter(connection, slot)

    def _enter(self, connection: Connection, slot: int) -> bytes:
        """Move a slot's bytes to the exchange; returns them. Without an exchange they are stray."""
        data, stamps, lengths = self._slots.settle(slot)
        exchange = connection.exchange
        if exchange is not None:
            exchange.stamps.frombytes(stamps)
            exchange.lengths.frombytes(lengths)
            exchange.chunks.append(data)
        return data

    def _tick(self) -> None:
        """Stay in the compiled loop a while, but not beyond the next timer of this process.

        A connection that is being opened is the event loop's: while there is one, nobody stays.
        """
        now = _clock()
        stop = now + self.stay_ns
        found = 0
        while True:
            until = 0 if self.opening else min(stop, earliest_ns(stop))
            found += self._drain_until(until)
            if self.opening or _clock() >= until:
                break
        if found:
            self._last_ns = now
        elif now - self._last_ns > _QUIET_NS:
            self._timer.stop()
            self._listen()

    def _drain(self) -> int:
        """One round, after a silence."""
        self._last_ns = _clock()
        return self._drain_until(0)

    def _drain_until(self, until: int) -> int:
        found, waited, handed = self._slots.read_all(self._offset.at(_clock()), self.tick_ns, until)
        for slot, what, code in handed:
            connection = self._slots.connections[slot]
            if connection is not None:
                self._look(connection, slot, what, code)
        if waited >= 0:
            self.delays_ns.append(waited)
        return found

    def _look(self, connection: Connection, slot: int, what: int, code: int) -> None:
        """Do what the compiled loop cannot decide."""
        drained = self._drained
        if what == drained.WRITABLE:
            connection.flush()
            return
        fd = connection.fileno()
        while True:
            if self._slots.count[slot]:
                self._hand_over(connection, slot)
            if self._slot_of.get(fd) != slot or self._slots.connections[slot] is not connection:
                return  # it was closed meanwhile
            if what == drained.CLOSED:
                connection.odd(b"")
                return
            if what == drained.BROKEN:
                connection.broken(_error(code))
                return
            if what != drained.AGAIN:
                return
            now = _clock()
            what, code = self._slots.read_one(fd, slot, now, self._offset.at(now))

    def _hand_over(self, connection: Connection, slot: int) -> None:
        last = int(self._slots.lengths[slot, self._slots.count[slot] - 1])
        exchange = connection.exchange
        data = self._enter(connection, slot)
        if exchange is None:
            connection.odd(data)
        elif connection.eager:
            connection.look(exchange)
        else:
            connection.maybe_over(exchange, data[-last:])


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
