"""A small HTTP client for what an engine is asked outside the load test.

Blocking, one connection per call, every read bounded: an engine's answer is a stranger's. The
load generator has its own client; this one is for health, settings, metrics, probes.
"""

from __future__ import annotations

import http.client
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import msgspec

from seatrial.core.errors import EngineError, UsageError

MAX_BODY_BYTES = 16 << 20
MAX_LINE_BYTES = 4 << 20

_ENDLESS = "the answer did not end in time"
_NETWORK = (OSError, http.client.HTTPException)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One whole answer. ``status`` 0 means: no HTTP answer at all; ``error`` then says why."""

    status: int
    body: bytes
    headers: dict[str, str] = {}
    error: str = ""

    @property
    def ok(self) -> bool:
        """An HTTP status below 400."""
        return 0 < self.status < 400

    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 become U+FFFD."""
        return self.body.decode("utf-8", errors="replace")

    def json(self) -> Any:
        """The body as JSON, or None when it is not JSON."""
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, RecursionError):
            return None


class Event(msgspec.Struct, frozen=True):
    """One ``data:`` line of a stream and when it arrived, in ns of the monotonic clock."""

    ns: int
    data: bytes

    def json(self) -> Any:
        """The event as JSON, or None (``[DONE]`` and damaged events)."""
        try:
            return msgspec.json.decode(self.data)
        except (msgspec.DecodeError, RecursionError):
            return None


def connection(base_url: str, timeout_s: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection to the server of ``base_url`` and the path prefix it carries."""
    parts = urlsplit(base_url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(
            "that is not an http address",
            where=base_url,
            unchanged="nothing was sent",
            remedy="give it as http://HOST:PORT",
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the address holds a user name or password, which would stand in every report",
            where=f"{parts.scheme}://***@{host}",
            unchanged="nothing was sent",
            remedy="give the address without it, and a key through an environment variable",
        )
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(host, port, timeout=timeout_s), parts.path.rstrip("/")


def call(
    base_url: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    timeout_s: float = 30.0,
    headers: dict[str, str] | None = None,
    limit_bytes: int = MAX_BODY_BYTES,
) -> Reply:
    """One request, one answer; a network error is a Reply with status 0, never an exception.

    Args:
        body: bytes as they are, anything else as JSON.
        timeout_s: of the whole call: an answer that comes drop by drop and has no end is given up.
        limit_bytes: what comes beyond it is dropped and named in ``error``.
    """
    link, prefix = connection(base_url, timeout_s)
    data, sent = _encode(body, headers)
    deadline = time.monotonic() + timeout_s
    try:
        link.request(method, prefix + path, body=data, headers=sent)
        answer = link.getresponse()
        got, error = read_body(answer, limit_bytes, deadline)
        return Reply(
            status=answer.status if error != _ENDLESS else 0,
            body=got,
            headers={k.lower(): v for k, v in answer.getheaders()},
            error=error,
        )
    except _NETWORK as error:
        return Reply(status=0, body=b"", error=f"{type(error).__name__}: {error}")
    finally:
        link.close()


def read_body(
    answer: http.client.HTTPResponse, limit_bytes: int, deadline: float
) -> tuple[bytes, str]:
    """(the body up to the limit, what is wrong with it). A socket's timeout is for one piece; the
    deadline is for all of them."""
    got = bytearray()
    while len(got) <= limit_bytes:
        piece = answer.read1(min(1 << 16, limit_bytes + 1 - len(got)))
        if not piece:
            return bytes(got), ""
        got += piece
        if time.monotonic() > deadline:
            return bytes(got[:limit_bytes]), _ENDLESS
    return bytes(got[:limit_bytes]), "answer too large"


def get(base_url: str, path: str, *, timeout_s: float = 10.0) -> Reply:
    """GET; see ``call``."""
    return call(base_url, "GET", path, timeout_s=timeout_s)


def post(base_url: str, path: str, body: Any, *, timeout_s: float = 120.0) -> Reply:
    """POST of JSON; see ``call``."""
    return call(base_url, "POST", path, body, timeout_s=timeout_s)


def upload(base_url: str, path: str, file: BinaryIO, size: int) -> Reply:
    """POST a file's bytes as they are, in pieces; see ``call``."""
    link, prefix = connection(base_url, 600.0)
    headers = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
    try:
        link.request("POST", prefix + path, body=file, headers=headers)
        answer = link.getresponse()
        return Reply(status=answer.status, body=answer.read(MAX_BODY_BYTES))
    except _NETWORK as error:
        return Reply(status=0, body=b"", error=f"{type(error).__name__}: {error}")
    finally:
        link.close()


class Stream:
    """A server-sent stream being read; closing it is how a client cancels."""

    def __init__(
        self,
        link: http.client.HTTPConnection,
        answer: http.client.HTTPResponse,
        deadline: float = math.inf,
    ) -> None:
        self._deadline = deadline
        self.status = answer.status
        self.error = ""
        self.done = False
        self._link = link
        self._answer = answer

    def events(self) -> Iterator[Event]:
        """Every ``data:`` line as it comes; ends at [DONE], the end, or a network error."""
        while True:
            try:
                line = self._answer.readline(MAX_LINE_BYTES)
            except _NETWORK as error:
                self.error = f"{type(error).__name__}: {error}"
                return
            if not line:
                return
            if time.monotonic() > self._deadline:
                self.error = _ENDLESS
                return
            if line.startswith(b"data:"):
                event = Event(time.monotonic_ns(), line[5:].strip())
                if event.data == b"[DONE]":
                    self.done = True
                    return
                yield event

    def body(self, limit_bytes: int = MAX_BODY_BYTES) -> bytes:
        """What is left, for answers that turned out not to be streams."""
        try:
            return self._answer.read(limit_bytes)
        except _NETWORK:
            return b""

    def close(self) -> None:
        """Drop the connection at once."""
        self._link.close()


@contextmanager
def stream(base_url: str, path: str, body: Any, *, timeout_s: float = 120.0) -> Iterator[Stream]:
    """POST and read the answer as server-sent events; leaving the block drops the connection.

    Args:
        timeout_s: of one silence; the whole stream may take ten times as long.

    Raises:
        EngineError: no HTTP answer at all.
    """
    link, prefix = connection(base_url, timeout_s)
    data, headers = _encode(body, None)
    try:
        try:
            link.request("POST", prefix + path, body=data, headers=headers)
            answer = link.getresponse()
        except _NETWORK as error:
            raise EngineError(
                f"no answer from the engine ({type(error).__name__}: {error})",
                where=base_url + path,
                remedy="look whether the engine is alive, and at the end of its log",
            ) from error
        yield Stream(link, answer, time.monotonic() + 10 * timeout_s)
    finally:
        link.close()


def _encode(body: Any, headers: dict[str, str] | None) -> tuple[bytes | None, dict[str, str]]:
    sent = {"Accept": "*/*", "Connection": "close", **(headers or {})}
    if body is None:
        return None, sent
    sent.setdefault("Content-Type", "application/json")
    return (body if isinstance(body, bytes) else msgspec.json.encode(body)), sent
