"""What the mock engine knows of each request: the yardstick for a client.

Times are ``perf_counter_ns`` of the server's process taken just before the write; on one machine
that is the client's clock too. Held in memory, served at ``/truth``, written to ``--truth-log``.
"""

from __future__ import annotations

from typing import BinaryIO

import msgspec


class Truth(msgspec.Struct, kw_only=True):
    """One request as the server saw it; -1 where it did not come to that."""

    serial: int
    request_id: str
    arrival_ns: int
    first_token_ns: int = -1
    last_token_ns: int = -1
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    preemptions: int = 0
    fault: str | None = None
    aborted: bool = False
    token_ns: list[int] = []


class TruthLog:
    """Collects truths; optionally appends them to a file as JSON lines."""

    def __init__(self, file: BinaryIO | None, *, keep: int, per_token: bool) -> None:
        self.items: list[Truth] = []
        self.per_token = per_token
        self._file = file
        self._keep = keep

    def add(self, truth: Truth) -> None:
        """A request ended."""
        if len(self.items) < self._keep:
            self.items.append(truth)
        if self._file is not None:
            self._file.write(msgspec.json.encode(truth) + b"\n")

    def lines(self) -> bytes:
        """All that is held, as JSON lines."""
        return b"".join(msgspec.json.encode(truth) + b"\n" for truth in self.items)

    def close(self) -> None:
        """Flush the file."""
        if self._file is not None:
            self._file.close()
