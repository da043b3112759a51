"""Counts tokens while they come: for requests that the plan cancels after so many of them."""

from __future__ import annotations

from seatrial.loadgen.answer import read_event
from seatrial.loadgen.events import MAX_PENDING


class TokenWatch:
    """True from ``feed`` once ``tokens`` events with content have arrived."""

    def __init__(self, route: str, tokens: int) -> None:
        self._route = route
        self._left = tokens
        self._pending = b""
        self._separator = b"\n" if route == "ollama" else b"\n\n"

    def feed(self, body: bytes) -> bool:
        """Look at a piece of the body as it comes."""
        if len(self._pending) > MAX_PENDING:  # a line without end: nothing in it is a token
            return False
        text = (self._pending + body).replace(b"\r\n", b"\n")
        *blocks, self._pending = text.split(self._separator)
        for block in blocks:
            at = block.find(b"data:")
            data = block if self._route == "ollama" else block[at + 5 :].strip()
            if self._route != "ollama" and at < 0:
                continue
            if read_event(self._route, data).kinds:
                self._left -= 1
        return self._left <= 0
