"""Listening: a socket of our own on loopback, a token, uvicorn on top."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from pathlib import Path

import msgspec

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.web.guard import LOOPBACK


class Listening(msgspec.Struct, frozen=True):
    """An open socket, the port it got, the token of this run."""

    sock: socket.socket
    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        """The address to open; the token is in its fragment, which is never sent."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/#token={self.token}"


def listen(host: str, port: int, *, everywhere: bool = False) -> Listening:
    """Open the socket.

    Args:
        host: a loopback address, unless ``everywhere``.
        port: 0 takes a free one.

    Raises:
        UsageError: the address is not loopback and that was not asked for.
        PrerequisiteError: the port is taken.
    """
    if not everywhere and not _loopback(host):
        raise UsageError(
            f"{host} is not a loopback address: others could read the trials and stop runs",
            where="--host",
            remedy="use 127.0.0.1 and a tunnel, or add --unsafe-everywhere",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(64)
    except OSError as error:
        sock.close()
        raise PrerequisiteError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            where="--port",
            unchanged="nothing was started",
            remedy="take a free port with --port 0",
        ) from error
    return Listening(sock, host, sock.getsockname()[1], secrets.token_urlsafe(24))


def serve(root: Path, listening: Listening) -> None:
    """Serve the trials in ``root`` until interrupted."""
    import uvicorn

    from seatrial.web.app import create_app

    hosts = LOOPBACK if _loopback(listening.host) else (*LOOPBACK, listening.host)
    app = create_app(root, token=listening.token, port=listening.port, hosts=hosts)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        lifespan="off",
    )
    uvicorn.Server(config).run(sockets=[listening.sock])


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
