"""The client's side of one connection: stamp, append, and notice the end.

``data_received`` runs once per read at the full token rate, so it does three things only: take
the time, append, compare four bytes. Headers and bodies of stated length go through httptools at
once. A chunked body is over when a read ends in CRLF 0 CRLF CRLF (JSON cannot hold a bare CR, so
nothing else in an answer looks like that; the later reading checks it with httptools). Anything
odd (trailers, bytes after the end) is found by httptools when the stream falls silent.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol, cast

import httptools

from seatrial.loadgen.exchange import BAD_HTTP, CANCELLED, EOF, RESET, WHOLE, Exchange

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


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection; carries one exchange at a time."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.transport: asyncio.Transport | None = None
        self.exchange: Exchange | None = None
        self.reusable = True
        self.opened_ns = 0
        self.connect_ns = 0
        self.idle_since_ns = 0
        self.uses = 0
        self.max_uses = 0
        self.idle_limit_ns = 0
        self._parser: httptools.HttpResponseParser | None = None
        self._eager = True
        self._fed = 0
        self._complete = False
        self._watched = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        # uvloop's transports do not inherit from asyncio.Transport.
        self.transport = cast(asyncio.Transport, transport)

    def start(self, exchange: Exchange, request: bytes) -> None:
        """Send one request; ``sent_ns`` is taken just before the write."""
        assert self.transport is not None
        self.exchange = exchange
        self._parser = httptools.HttpResponseParser(self)
        self._eager = True
        self._fed = 0
        self._complete = False
        self._watched = exchange.watch is not None
        self.uses += 1
        exchange.sent_ns = _clock()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """The hot path."""
        now = _clock()
        exchange = self.exchange
        if exchange is None:
            self.owner.stray += 1
            self.reusable = False
            self.close()
            return
        exchange.stamps.append(now)
        exchange.chunks.append(data)
        if self._eager:
            self._look(exchange)
        elif data[-4:] == b"\r\n\r\n" or len(data) < 7:
            self._maybe_over(exchange, data)

    def _maybe_over(self, exchange: Exchange, data: bytes) -> None:
        """Is this the end of a chunked body?"""
        if len(data) < 7:
            data = b"".join(exchange.chunks[-7:])
        if data[-7:] == _END:
            self._end(WHOLE)
        elif data[-4:] == b"\r\n\r\n" and data[-6:-4] != b"\r\n":
            self._look(exchange)

    def look_again(self) -> None:
        """The stream has fallen silent: let httptools decide whether it is over."""
        if self.exchange is not None and self.exchange.chunks:
            self._look(self.exchange)

    def _look(self, exchange: Exchange) -> None:
        """Feed the parser what it has not seen; end the exchange if the message is whole."""
        chunks = exchange.chunks
        try:
            while self._fed < len(chunks):
                self._fed += 1
                self._parser_now().feed_data(chunks[self._fed - 1])
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
            self._eager = self._watched
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
        self.reusable = False
        self._watched = False
        self._end(CANCELLED)

    def give_up(self, how: str) -> None:
        """Close because of a stall or the end of the window."""
        self.reusable = False
        self._end(how)

    def _end(self, how: str) -> None:
        exchange = self.exchange
        if exchange is None:
            return
        self.exchange = None
        exchange.how = how
        last = exchange.stamps[-1] if exchange.stamps else 0
        exchange.done_ns = last if how == WHOLE else _clock()
        self.idle_since_ns = _clock()
        if not self.reusable:
            self.close()
        self.owner.ended(self, exchange)

    def eof_received(self) -> bool | None:
        """The server closed in order."""
        if self.exchange is not None:
            self._look(self.exchange)
        if self.exchange is not None:
            self.reusable = False
            self._end(EOF)
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.transport = None
        self.reusable = False
        exchange = self.exchange
        if exchange is None:
            self.owner.lost(self)
            return
        exchange.error = f"{type(exc).__name__}: {exc}"[:200] if exc else ""
        self._end(RESET if exc else EOF)

    def close(self) -> None:
        """Close at once; nothing more is read."""
        if self.transport is not None:
            self.transport.abort()
