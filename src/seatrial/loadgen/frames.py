"""From reads to body pieces: HTTP framing, after the run.

Each read is fed to httptools by itself, so every piece of the body keeps the stamp of the read
that brought it. A body without length that ends with the connection is whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import httptools

from seatrial.loadgen.exchange import EOF, RawExchange


@dataclass(slots=True)
class Message:
    """One HTTP response. ``pieces`` are (stamp, bytes of the body) in order."""

    http_status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    complete: bool = False
    broken: str = ""


class _Reader:
    """httptools' callbacks; ``now`` is the stamp of the read that is being fed."""

    def __init__(self) -> None:
        self.message = Message()
        self.now = 0
        self.parser = httptools.HttpResponseParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.message.complete:
            headers = self.message.headers
            headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if not self.message.complete:
            self.message.http_status = self.parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if not self.message.complete:
            self.message.pieces.append((self.now, body))

    def on_message_complete(self) -> None:
        self.message.complete = True


def read_head(raw: RawExchange) -> tuple[Message, int] | None:
    """Status and headers alone, and where the body begins; None if the head is not whole."""
    end = raw.data.find(b"\r\n\r\n", 0, 65_536) + 4
    if end < 4:
        return None
    reader = _Reader()
    try:
        reader.parser.feed_data(raw.data[:end])
    except httptools.HttpParserError:
        return None
    return (reader.message, end) if reader.message.http_status is not None else None


def read_message(raw: RawExchange) -> Message:
    """The response in an exchange, as far as it came. Never raises on what a server sent."""
    reader = _Reader()
    message = reader.message
    feed = reader.parser.feed_data
    try:
        for stamp, data in raw.reads():
            reader.now = stamp
            feed(data)
    except httptools.HttpParserError as error:
        if not message.complete:
            message.broken = str(error)[:200]
    if raw.how == EOF and message.http_status is not None and not message.broken:
        headers = message.headers
        bounded = "content-length" in headers or "chunked" in headers.get("transfer-encoding", "")
        message.complete = message.complete or not bounded
    return message
