"""The simplest router there is: forwards each new connection to the present backend.

It stands in front of an engine during upgrade trials. Connections that are open stay where they
are; a switch is one assignment. Loopback only.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from types import TracebackType
from typing import Self

from seatrial.engines.start import HOST

_CHUNK = 1 << 16


class Switch:
    """A context manager; ``base_url`` is where clients go, ``target`` where they end up."""

    def __init__(self, target: str) -> None:
        self._target = _address(target)
        self._open: dict[tuple[str, int], int] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self.base_url = ""
        self.name = "seatrial's own switch"

    def point_to(self, target: str) -> None:
        """New connections go there from now on."""
        self._target = _address(target)

    def open_to(self, target: str) -> int:
        """Connections that are still open to a backend."""
        return self._open.get(_address(target), 0)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://{HOST}:{port}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, HOST, 0)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        others = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = self._target
        self._open[target] = self._open.get(target, 0) + 1
        try:
            back_reader, back_writer = await asyncio.open_connection(*target)
        except OSError:
            self._open[target] -= 1
            writer.close()
            return
        try:
            await asyncio.gather(_pump(reader, back_writer), _pump(back_reader, writer))
        finally:
            self._open[target] -= 1
            for end in (writer, back_writer):
                end.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end of one direction, then close the other side's writing half."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


def _address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)
