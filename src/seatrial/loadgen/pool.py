"""Connections of one worker: opened before the clock starts, most recently used first.

A connection that the server limits (``Keep-Alive: timeout=5, max=100``) is retired in time, so
that a request is never lost to a connection that was about to close. Connect times are kept and
reported apart; they are never part of another number.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time

from seatrial.core.errors import EngineError
from seatrial.loadgen.plan import Target
from seatrial.loadgen.reactor import Reactor
from seatrial.loadgen.wire import Connection, Owner, SocketLink, TlsLink

_clock = time.perf_counter_ns
_CONNECT_TIMEOUT_S = 20.0


def tls_context(target: Target) -> ssl.SSLContext | None:
    """The TLS settings of a target; None for plain HTTP."""
    if not target.tls:
        return None
    context = ssl.create_default_context(cafile=target.ca_file)
    context.set_alpn_protocols(["http/1.1"])
    if not target.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class Pool:
    """Idle connections and the opening of new ones."""

    def __init__(
        self, target: Target, owner: Owner, loop: asyncio.AbstractEventLoop, reactor: Reactor
    ) -> None:
        self._reactor = reactor
        self._target = target
        self._owner = owner
        self._loop = loop
        self._tls = tls_context(target)
        self._address: tuple[str, int] | None = None
        self._family = socket.AF_UNSPEC
        self.idle: list[Connection] = []
        self.opened = 0
        self.connect_ns: list[int] = []

    async def resolve(self) -> None:
        """Look the name up once, so that no request waits for DNS.

        Raises:
            EngineError: the name is unknown.
        """
        target = self._target
        try:
            found = await self._loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise EngineError(
                f"the host name cannot be resolved: {error}",
                where=target.host,
                unchanged="nothing was sent",
                remedy="check the endpoint's address",
            ) from error
        self._family, address = found[0][0], found[0][4]
        self._address = (str(address[0]), int(address[1]))

    async def open(self) -> Connection:
        """A new connection.

        Raises:
            OSError: it was refused, or took longer than 20 s.
        """
        assert self._address is not None
        start = _clock()
        async with asyncio.timeout(_CONNECT_TIMEOUT_S):
            connection = await (self._open_tls() if self._tls else self._open_plain())
        connection.idle_since_ns = _clock()
        connection.connect_ns = connection.idle_since_ns - start
        self.opened += 1
        self.connect_ns.append(connection.connect_ns)
        return connection

    async def _open_plain(self) -> Connection:
        assert self._address is not None
        sock = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.sock_connect(sock, self._address)
        except BaseException:
            sock.close()
            raise
        return SocketLink(self._owner, sock, self._reactor)

    async def _open_tls(self) -> Connection:
        assert self._address is not None
        _, connection = await self._loop.create_connection(
            lambda: TlsLink(self._owner),
            self._address[0],
            self._address[1],
            ssl=self._tls,
            server_hostname=self._target.host,
        )
        return connection

    def take(self) -> Connection | None:
        """An idle connection that is good for one more request."""
        now = _clock()
        while self.idle:
            connection = self.idle.pop()
            spent = connection.max_uses and connection.uses >= connection.max_uses
            stale = connection.idle_limit_ns and (
                now - connection.idle_since_ns > connection.idle_limit_ns
            )
            if not connection.alive or spent or stale:
                connection.close()
                continue
            return connection
        return None

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request."""
        self.idle.append(connection)

    def forget(self, connection: Connection) -> None:
        """The server closed an idle connection."""
        if connection in self.idle:
            self.idle.remove(connection)

    def close(self) -> None:
        """Close what is idle."""
        idle, self.idle = self.idle, []
        for connection in idle:
            connection.close()
