"""The client's side of one connection: what was read, and whether the answer is over.

Reads are stamped and appended by ``reactor`` (plain sockets) or by ``TlsLink`` (TLS, through the
event loop); both then ask here whether that was the end. Headers and bodies of stated length go
through httptools at once. A chunked body is over when a read ends in CRLF 0 CRLF CRLF (JSON
cannot hold a bare CR, so nothing else in an answer looks like that; the later reading checks it
with httptools). Anything odd (trailers, bytes after the end) is found by httptools when the
stream falls silent.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol, cast

import httptools

from seatrial.loadgen.exchange import BAD_HTTP, CANCELLED, EOF, RESET, WHOLE, Exchange
from seatrial.loadgen.reactor import Reactor

_clock = time.perf_counter_ns
_END = b"\r\n0\r\n\r\n"


class Owner(Protocol):
    """Who is told when an exchange ends or a connection goes away.

    ``stray`` counts reads that belong to no exchange: bytes after the end of an answer.
    """

    stray: int

    def ended(self, connection: Connection, exchange: Exchange) -> None:
        """The exchange is over; ``connection.reusable`` says whether it can carry another."""

    def lost(self, connection: Connection) -> None:
        """An idle connection was closed by the server."""


class Watch(Protocol):
    """Looks at the body while it comes; only for requests that are cancelled by token count."""

    def feed(self, body: bytes) -> bool:
        """True when it is time to close."""


class Connection:
    """One HTTP/1.1 connection; carries one exchange at a time."""

    recvmsg: Callable[[int, int], tuple[bytes, list[Any], int, Any]]

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.exchange: Exchange | None = None
        self.alive = True
        self.reusable = True
        self.eager = True
        self.connect_ns = 0
        self.idle_since_ns = 0
        self.uses = 0
        self.max_uses = 0
        self.idle_limit_ns = 0
        self._parser: httptools.HttpResponseParser | None = None
        self._fed = 0
        self._complete = False
        self._watched = False

    def start(self, exchange: Exchange, request: bytes) -> None:
        """Send one request; ``sent_ns`` is taken just before the write."""
        self.exchange = exchange
        self._parser = httptools.HttpResponseParser(self)
        self._look_at_each(True)
        self._fed = 0
        self._complete = False
        self._watched = exchange.watch is not None
        self.uses += 1
        exchange.sent_ns = _clock()
        self.write(request)

    def _look_at_each(self, eager: bool) -> None:
        """Whether every read must be looked at, or only what may be an end."""
        self.eager = eager

    def fileno(self) -> int:
        """The socket's descriptor, -1 where there is none of ours."""
        return -1

    def settle(self) -> None:
        """Make everything that was read part of the exchange."""

    def write(self, data: bytes) -> None:
        """Send bytes, or keep what the socket does not take yet."""
        raise NotImplementedError

    def flush(self) -> None:
        """The socket takes more."""
        raise NotImplementedError

    def close(self) -> None:
        """Close at once; nothing more is read."""
        raise NotImplementedError

    def closed_by_peer(self) -> bool:
        """Whether the server has closed already, though that has not been read yet."""
        return False

    def maybe_over(self, exchange: Exchange, data: bytes) -> None:
        """Is this the end of a chunked body?"""
        if len(data) < 7:
            data = b"".join(exchange.chunks[-7:])
        if data[-7:] == _END:
            self._end(WHOLE)
        elif data[-4:] == b"\r\n\r\n" and data[-6:-4] != b"\r\n":
            self.look(exchange)

    def look_again(self) -> None:
        """The stream has fallen silent: let httptools decide whether it is over."""
        self.settle()
        if self.exchange is not None and self.exchange.chunks:
            self.look(self.exchange)

    def look(self, exchange: Exchange) -> None:
        """Feed the parser what it has not seen; end the exchange if the message is whole."""
        chunks = exchange.chunks
        parser = self._parser_now()
        try:
            while self._fed < len(chunks) and self.exchange is exchange:
                self._fed += 1
                parser.feed_data(chunks[self._fed - 1])
        except httptools.HttpParserError as error:
            self.reusable = False
            if self._complete:
                exchange.trailing = True
                self._end(WHOLE)
            else:
                exchange.error = str(error)[:200]
                self._end(BAD_HTTP)
            return
        if self._complete:
            self._end(WHOLE)

    def _parser_now(self) -> httptools.HttpResponseParser:
        assert self._parser is not None
        return self._parser

    # httptools calls these
    def on_headers_complete(self) -> None:
        """Whether the connection can carry another exchange is known here."""
        if not self._parser_now().should_keep_alive():
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Only what decides how long a connection lives and how a body ends."""
        lower = name.lower()
        if lower == b"transfer-encoding" and b"chunked" in value.lower():
            self._look_at_each(self._watched)
        elif lower == b"keep-alive":
            self._keep_alive(value)

    def _keep_alive(self, value: bytes) -> None:
        for part in value.split(b","):
            key, _, number = part.strip().partition(b"=")
            if not number.isdigit() or len(number) > 9:
                continue
            if key.lower() == b"timeout":
                self.idle_limit_ns = int(number) * 800_000_000
            elif key.lower() == b"max":
                self.max_uses = self.uses + int(number)

    def on_body(self, body: bytes) -> None:
        """Only watched requests look at their body while it comes."""
        exchange = self.exchange
        if self._watched and exchange is not None and not self._complete:
            watch = cast(Watch, exchange.watch)
            if watch.feed(body):
                self.cancel()

    def on_message_complete(self) -> None:
        """The response is whole."""
        self._complete = True

    def cancel(self) -> None:
        """Close by plan."""
        self._watched = False
        self.give_up(CANCELLED)

    def give_up(self, how: str) -> None:
        """Close because of the plan, a stall, or the end of the window."""
        self.reusable = False
        self._end(how)

    def odd(self, data: bytes) -> None:
        """The server closed in order, or sent bytes that belong to no exchange."""
        self.reusable = False
        if data:
            self.owner.stray += 1
        elif self.exchange is not None:
            self.look(self.exchange)
        if self.exchange is not None:
            self._end(EOF)
        elif self.alive:
            self.close()
            self.owner.lost(self)

    def broken(self, error: Exception) -> None:
        """The connection broke."""
        self.reusable = False
        exchange = self.exchange
        if exchange is None:
            self.close()
            self.owner.lost(self)
            return
        exchange.error = f"{type(error).__name__}: {error}"[:200]
        self._end(RESET)

    def _end(self, how: str) -> None:
        exchange = self.exchange
        if exchange is None:
            return
        self.settle()
        self.exchange = None
        exchange.how = how
        self.idle_since_ns = _clock()
        exchange.done_ns = exchange.noticed_ns = self.idle_since_ns
        if how == WHOLE and exchange.stamps:
            exchange.done_ns = exchange.stamps[-1]
            self.reusable = self.reusable and not self.closed_by_peer()
        if not self.reusable:
            self.close()
        self.owner.ended(self, exchange)


class SocketLink(Connection):
    """A plain TCP connection, read by the reactor."""

    def __init__(self, owner: Owner, sock: socket.socket, reactor: Reactor) -> None:
        super().__init__(owner)
        self._sock = sock
        self._fd = sock.fileno()
        self._reactor = reactor
        self._unsent = b""
        self.recvmsg = sock.recvmsg
        reactor.add(self, sock)

    def _look_at_each(self, eager: bool) -> None:
        self.eager = eager
        self._reactor.look_at_each(self._fd, eager)

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._fd

    def settle(self) -> None:
        """Make everything that was read part of the exchange."""
        self._reactor.settle(self._fd)

    def closed_by_peer(self) -> bool:
        """Look without taking: no bytes at all is the end."""
        try:
            return not self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def write(self, data: bytes) -> None:
        """Send; what does not fit waits for the socket."""
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self.broken(error)
            return
        if sent < len(data):
            self._unsent = data[sent:]
            self._reactor.want_write(self._sock, True)

    def flush(self) -> None:
        """Send more of what waited."""
        waiting, self._unsent = self._unsent, b""
        self._reactor.want_write(self._sock, False)
        if waiting:
            self.write(waiting)

    def close(self) -> None:
        """Close at once."""
        if self.alive:
            self.alive = False
            self._reactor.remove(self._sock)
            self._sock.close()


class TlsLink(Connection, asyncio.Protocol):
    """A TLS connection through the event loop; stamped at the read."""

    def __init__(self, owner: Owner) -> None:
        super().__init__(owner)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is done."""
        # uvloop's transports do not inherit from asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Decrypted bytes."""
        now = _clock()
        exchange = self.exchange
        if exchange is None:
            self.odd(data)
            return
        exchange.stamps.append(now)
        exchange.lengths.append(len(data))
        exchange.chunks.append(data)
        if self.eager:
            self.look(exchange)
        elif data[-4:] == b"\r\n\r\n" or len(data) < 7:
            self.maybe_over(exchange, data)

    def eof_received(self) -> bool | None:
        """The server closed in order."""
        self.odd(b"")
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._transport = None
        if not self.alive:
            return
        self.alive = False
        if exc is not None:
            self.broken(exc)
        else:
            self.odd(b"")

    def write(self, data: bytes) -> None:
        """Send; the transport keeps what does not fit."""
        if self._transport is not None:
            self._transport.write(data)

    def flush(self) -> None:
        """The transport does this itself."""

    def close(self) -> None:
        """Close at once."""
        self.alive = False
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
