"""Who may ask the local web application for what.

It listens on loopback, and that alone protects nothing: any page in the same browser can send
requests to it, and a name server can point a foreign name at 127.0.0.1 (DNS rebinding). So the
Host must be one of ours, an Origin must be our own, and everything that starts, stops or writes
needs the token that only the printed address carries (in its fragment, which no server sees and
no log keeps). Answers forbid framing, sniffing and every source but ourselves.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seatrial.core.errors import UsageError

TOKEN_HEADER = "x-seatrial-token"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """ASGI middleware; refuses before anything is read.

    Args:
        hosts: names under which the application may be addressed, without port.
        port: the port it listens on; None accepts any (tests).
        token: what a request other than GET and HEAD must carry.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: tuple[str, ...], port: int | None, token: str
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._port = port
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer 403."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Headers(scope=scope), scope["method"])
        if refusal is None:
            await self._app(scope, receive, _with_headers(send))
            return
        body = {"error": "Forbidden", "what": refusal, "do": "open the address seatrial printed"}
        await JSONResponse(body, status_code=403)(scope, receive, _with_headers(send))

    def _refusal(self, headers: Headers, method: str) -> str | None:
        host = headers.get("host", "")
        if not self._ours(host):
            return "this Host is not ours"
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return "this Origin is not ours"
        if method in ("GET", "HEAD"):
            return None
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "another site sent this"
        given = headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return "the token is missing or wrong"
        return None

    def _ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, ""
        if port and not port.isdigit():
            return False
        right_port = self._port is None or port in (str(self._port), "")
        return name.lower() in self._hosts and right_port


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("content-security-policy", POLICY)
        await send(message)

    return sending


def inside(root: Path, relative: str) -> Path:
    """The file or folder ``relative`` under ``root``, which must really be there.

    Raises:
        UsageError: it is not there, or lies outside: through ``..``, an absolute path, a symbolic
            link, or a name with a NUL byte. The two cases are told apart to nobody.
    """
    refused = UsageError(
        "there is no such thing in the trials folder",
        where=relative[:200],
        remedy="give a path within the trials folder",
    )
    try:
        found = (root / relative).resolve(strict=True)
        base = root.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        raise refused from None
    if not found.is_relative_to(base) or any(
        part.startswith(".") for part in found.relative_to(base).parts
    ):
        raise refused
    return found
