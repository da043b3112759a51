"""A small, polite HTTP client for package indexes: GET with byte ranges, one connection a host.

It keeps the connection open, sends one request at a time, counts requests and bytes, and stops
at a limit of both, so that no bug of ours can turn into a load on somebody's index. It honours
proxies, netrc and credentials in the address, as pip does. Answers are bounded; redirects are
followed five times at most and never from https to http.
"""

from __future__ import annotations

import base64
import http.client
import netrc
import os
import ssl
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from seatrial._version import __version__
from seatrial.core.errors import IntegrityError, PrerequisiteError

_TIMEOUT_S = 30.0
_RETRIES = 3
_REDIRECTS = 5
_CHUNK = 1 << 16


class Answer:
    """One response: status, headers (lower-case names), body."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes, url: str) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.url = url


class Client:
    """GET over kept-alive connections.

    Attributes:
        requests, bytes_in: what has been asked and received so far.
    """

    def __init__(
        self,
        *,
        cafile: str | None = None,
        max_requests: int = 20_000,
        max_bytes: int = 8 << 30,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.requests = 0
        self.bytes_in = 0
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._sleep = sleep
        self._context = ssl.create_default_context(cafile=cafile)
        self._connections: dict[tuple[str, str], http.client.HTTPConnection] = {}

    def get(
        self, url: str, *, headers: dict[str, str] | None = None, limit: int = 64 << 20
    ) -> Answer:
        """The answer to one GET, redirects followed; any status below 500 is returned.

        Raises:
            PrerequisiteError: the host cannot be reached or keeps failing.
            IntegrityError: the body is longer than ``limit`` or than it says.
        """
        for _ in range(_REDIRECTS + 1):
            answer = self._with_retries(url, headers or {}, limit)
            if answer.status not in (301, 302, 303, 307, 308):
                return answer
            target = urllib.parse.urljoin(url, answer.headers.get("location", ""))
            if url.startswith("https:") and not target.startswith("https:"):
                raise _unreachable(url, "it redirects from https to something less")
            url = target
        raise _unreachable(url, "too many redirects")

    def get_range(self, url: str, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop`` (exclusive) of a file.

        Raises:
            PrerequisiteError: the server does not serve ranges, or cannot be reached.
            IntegrityError: it sent other bytes than asked for.
        """
        wanted = stop - start
        answer = self.get(url, headers={"Range": f"bytes={start}-{stop - 1}"}, limit=wanted + 1)
        if answer.status != 206:
            raise _unreachable(url, f"no byte ranges: HTTP {answer.status}")
        if len(answer.body) != wanted:
            raise IntegrityError(
                f"asked for {wanted} bytes, got {len(answer.body)}",
                where=_shown(url),
                remedy="try again; if it repeats, the mirror is damaged",
            )
        return answer.body

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _with_retries(self, url: str, headers: dict[str, str], limit: int) -> Answer:
        last = ""
        for attempt in range(_RETRIES):
            if attempt:
                self._sleep(0.5 * 4 ** (attempt - 1))
            try:
                answer = self._once(url, headers, limit)
            except (OSError, http.client.HTTPException) as error:
                self._drop(url)
                last = f"{type(error).__name__}: {error}"
                continue
            if answer.status < 500 and answer.status != 429:
                return answer
            last = f"HTTP {answer.status}"
            if answer.status == 429:
                self._sleep(_retry_after(answer.headers))
        raise _unreachable(url, last)

    def _once(self, url: str, headers: dict[str, str], limit: int) -> Answer:
        if self.requests >= self._max_requests or self.bytes_in >= self._max_bytes:
            raise PrerequisiteError(
                f"stopped after {self.requests} requests and {self.bytes_in} bytes",
                where=_shown(url),
                unchanged="what was read so far is in the cache",
                remedy="run the same command again: it goes on from the cache",
            )
        parts = urllib.parse.urlsplit(url)
        connection = self._connection(parts)
        path = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        sent = {"User-Agent": f"seatrial/{__version__}", "Accept-Encoding": "identity", **headers}
        if token := _credentials(parts):
            sent["Authorization"] = token
        self.requests += 1
        connection.request("GET", path, headers=sent)
        response = connection.getresponse()
        body = self._read(response, limit, url)
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, body, url)

    def _read(self, response: http.client.HTTPResponse, limit: int, url: str) -> bytes:
        chunks: list[bytes] = []
        size = 0
        while chunk := response.read(_CHUNK):
            size += len(chunk)
            self.bytes_in += len(chunk)
            if size > limit:
                self._drop(url)
                raise IntegrityError(
                    f"the answer is longer than {limit} bytes",
                    where=_shown(url),
                    remedy="check the index address; this is not an answer of a package index",
                )
            chunks.append(chunk)
        return b"".join(chunks)

    def _connection(self, parts: urllib.parse.SplitResult) -> http.client.HTTPConnection:
        key = (parts.scheme, parts.netloc)
        if key not in self._connections:
            self._connections[key] = self._open(parts)
        return self._connections[key]

    def _open(self, parts: urllib.parse.SplitResult) -> http.client.HTTPConnection:
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _unreachable(parts.geturl(), "only http and https addresses are read")
        host, port = parts.hostname, parts.port
        proxies = urllib.request.getproxies()
        proxy = proxies.get(parts.scheme)
        if proxy and not urllib.request.proxy_bypass(host):
            via = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
            return self._tunnel(parts.scheme, via, host, port)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=_TIMEOUT_S, context=self._context
            )
        return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)

    def _tunnel(
        self, scheme: str, via: urllib.parse.SplitResult, host: str, port: int | None
    ) -> http.client.HTTPConnection:
        if not via.hostname:
            raise _unreachable(via.geturl(), "the proxy's address has no host")
        connection: http.client.HTTPConnection
        if scheme == "https":
            connection = http.client.HTTPSConnection(
                via.hostname, via.port, timeout=_TIMEOUT_S, context=self._context
            )
        else:
            connection = http.client.HTTPConnection(via.hostname, via.port, timeout=_TIMEOUT_S)
        token = _basic(via)
        connection.set_tunnel(host, port, {"Proxy-Authorization": token} if token else {})
        return connection

    def _drop(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        connection = self._connections.pop((parts.scheme, parts.netloc), None)
        if connection is not None:
            connection.close()


def _basic(parts: urllib.parse.SplitResult) -> str | None:
    if parts.username is None:
        return None
    user = urllib.parse.unquote(parts.username)
    password = urllib.parse.unquote(parts.password or "")
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _credentials(parts: urllib.parse.SplitResult) -> str | None:
    """Credentials in the address, else in ~/.netrc (or $NETRC)."""
    if parts.username is not None:
        return _basic(parts)
    path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    if not path.is_file() or not parts.hostname:
        return None
    try:
        found = netrc.netrc(path).authenticators(parts.hostname)
    except (netrc.NetrcParseError, OSError):
        return None
    if found is None:
        return None
    return "Basic " + base64.b64encode(f"{found[0]}:{found[2]}".encode()).decode()


def _retry_after(headers: dict[str, str]) -> float:
    text = headers.get("retry-after", "")
    return min(60.0, float(text)) if text.isdigit() else 5.0


def _shown(url: str) -> str:
    """An address without credentials."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    return urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))


def _unreachable(url: str, why: str) -> PrerequisiteError:
    return PrerequisiteError(
        f"the package index cannot be read: {why}",
        where=_shown(url),
        unchanged="the facts at hand are as they were; they still answer",
        remedy="check pip's index settings and the network, or give a local wheel, sdist or folder",
    )
