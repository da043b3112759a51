"""Exact replay: a file's own bodies at its own times, byte for byte.

One JSON object a line: ``{"timestamp": MS, "body": {...}}`` (``timestamp`` in milliseconds from
any origin; ``body`` an object or a string that is sent as it is), or the body itself, an object
with ``messages`` or ``prompt``. Optional beside ``body``: ``session`` (text or number) and
``delay`` (ms after the request before, instead of ``timestamp``). Nothing is added to a body and
nothing taken from it; without ``stream`` an answer comes whole and has no TTFT of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from seatrial.core.errors import UsageError
from seatrial.core.ids import sha256_file
from seatrial.trace.table import RequestTable

MAX_LINE = 64 << 20


@dataclass(frozen=True, slots=True)
class Replay:
    """A file of bodies: where each lies, and the table that stands for it."""

    path: Path
    sha256: str
    table: RequestTable
    offsets: list[int]

    def bodies(self) -> Iterator[bytes]:
        """The bodies in order of their times, read from the file one at a time."""
        with self.path.open("rb") as file:
            for offset in self.offsets:
                file.seek(offset)
                yield _body(_line(file.readline(MAX_LINE), self.path.name, 0))


def load(path: Path) -> Replay:
    """Look through a file of bodies.

    Raises:
        UsageError: a line is not JSON or holds no body, or some lines have times and others none.
    """
    times: list[float | None] = []
    offsets: list[int] = []
    outputs: list[int] = []
    sessions: list[Any] = []
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            while file.tell() < size:
                offset = file.tell()
                raw = file.readline(MAX_LINE)
                if not raw.strip():
                    continue
                row = _line(raw, path.name, len(offsets) + 1)
                body = _decoded(_body(row))
                previous = times[-1] if times else 0.0
                times.append(_time(row, previous))
                offsets.append(offset)
                outputs.append(_limit(body))
                sessions.append(row.get("session"))
    except OSError as error:
        raise UsageError(
            f"the file cannot be read: {error.strerror}", where=str(path), remedy="check the name"
        ) from None
    if not offsets:
        raise UsageError("the file holds no request", where=path.name, remedy="see bench --help")
    known = [t for t in times if t is not None]
    if known and len(known) < len(times):
        raise UsageError(
            f"{len(times) - len(known)} lines have no time and {len(known)} have one",
            where=path.name,
            remedy="give all lines a timestamp, or none",
        )
    order = np.argsort(known, kind="stable") if known else np.arange(len(offsets))
    return Replay(
        path=path,
        sha256=sha256_file(path),
        table=_table(np.array(known)[order] if known else None, order, outputs, sessions),
        offsets=[offsets[i] for i in order],
    )


def _table(
    times_ms: np.ndarray | None, order: np.ndarray, outputs: list[int], sessions: list[Any]
) -> RequestTable:
    n = len(outputs)
    arrivals = None
    if times_ms is not None:
        arrivals = np.rint((times_ms - times_ms[0]) * 1e6).astype(np.int64)
    numbers: dict[Any, int] = {}
    session = np.full(n, -1, np.int64)
    turn = np.full(n, -1, np.int64)
    seen: dict[int, int] = {}
    for place, i in enumerate(order):
        name = sessions[i]
        if isinstance(name, str | int):
            number = numbers.setdefault(name, len(numbers))
            session[place], turn[place] = number, seen.get(number, 0)
            seen[number] = seen.get(number, 0) + 1
    return RequestTable(
        format="bodies",
        n=n,
        arrival_ns=arrivals,
        grain_ns=1_000_000,
        input_tokens=None,
        output_tokens=np.array([outputs[i] for i in order], np.int64),
        session=session if numbers else None,
        turn=turn if numbers else None,
        missing=("input lengths",),
    )


def _line(raw: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        row = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise UsageError(
            "a line is not a JSON object", where=f"{name}, request {number}", remedy="see --help"
        )
    return row


def _body(row: dict[str, Any]) -> bytes:
    body = row.get("body", row if "messages" in row or "prompt" in row else None)
    if isinstance(body, str):
        return body.encode()
    if not isinstance(body, dict):
        raise UsageError(
            "a line holds no body", where="--bodies", remedy='write {"timestamp": MS, "body": {}}'
        )
    return msgspec.json.encode(body)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return {}  # sent as it is; the server will say what it thinks of it
    return value if isinstance(value, dict) else {}


def _limit(body: dict[str, Any]) -> int:
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        value = body.get(name)
        if isinstance(value, int) and value > 0:
            return value
    return -1


def _time(row: dict[str, Any], previous: float | None) -> float | None:
    stamp, delay = row.get("timestamp"), row.get("delay")
    if isinstance(stamp, int | float) and np.isfinite(stamp):
        return float(stamp)
    if isinstance(delay, int | float) and np.isfinite(delay):
        return (previous or 0.0) + float(delay)
    return None
