"""The server's side of HTTP/1.1: one asyncio protocol, requests in, bytes out.

Requests are bounded (64 MiB); a client that goes away is told to the application at once, since
cancelling a stream is one of the things under test.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import httptools

MAX_BODY = 64 << 20
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(slots=True)
class Request:
    """One HTTP request, whole."""

    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class Channel(asyncio.Protocol):
    """One client connection; ``handler(request, channel)`` answers."""

    def __init__(self, handler: Callable[[Request, Channel], None], server: str) -> None:
        self._handler = handler
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._request = Request()
        self.transport: asyncio.Transport | None = None
        self.on_gone: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected."""
        # uvloop's transports do not inherit from asyncio.Transport.
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client went away."""
        self.transport = None
        gone, self.on_gone = self.on_gone, None
        if gone is not None:
            gone()

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.answer(400, b'{"error":{"message":"not HTTP"}}', close=True)

    # httptools calls these
    def on_message_begin(self) -> None:
        """A request begins."""
        self._request = Request()

    def on_url(self, url: bytes) -> None:
        """Its target."""
        self._request.path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._request.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if len(self._request.body) + len(body) <= MAX_BODY:
            self._request.body += body

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._request.method = self._parser.get_method().decode("ascii")
        self._request.path = self._request.path.partition("?")[0]
        self._handler(self._request, self)

    def write(self, data: bytes) -> None:
        """Bytes to the client, if it is still there."""
        if self.transport is not None:
            self.transport.write(data)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Status line and headers."""
        reason = _REASONS.get(status, "Error")
        lines = [f"HTTP/1.1 {status} {reason}", f"Server: {self._server}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def chunk(self, data: bytes) -> None:
        """One chunk of a chunked body."""
        if data:
            self.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_chunks(self) -> None:
        """The last, empty chunk."""
        self.write(b"0\r\n\r\n")

    def answer(
        self,
        status: int,
        body: bytes,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        close: bool = False,
    ) -> None:
        """A whole answer with Content-Length."""
        fields = {"Content-Type": content_type, "Content-Length": str(len(body))}
        if close:
            fields["Connection"] = "close"
        self.head(status, {**fields, **(headers or {})})
        self.write(body)
        if close:
            self.close()

    def answer_json(self, value: Any, status: int = 200) -> None:
        """A whole JSON answer."""
        self.answer(status, json.dumps(value).encode())

    def close(self) -> None:
        """End the connection in order."""
        if self.transport is not None:
            self.transport.close()

    def reset(self) -> None:
        """End it with RST, as a crashed process does."""
        if self.transport is not None:
            import socket
            import struct

            raw = self.transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
