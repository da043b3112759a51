"""The trial's own log: one JSON line per event, append-only, for whoever watches.

``{seq, t_ns, stage, text}``; ``seq`` continues over resumes, so that a page which reconnects can
ask for what it has not seen. A last line cut by a crash is dropped when the log is opened.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO

import msgspec

from seatrial.core.progress import Progress
from seatrial.store.atomic import disk_errors


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One line of events.jsonl; ``t_ns`` is wall-clock time since the epoch."""

    seq: int
    t_ns: int
    stage: str
    text: str


class EventLog:
    """A progress sink that writes to events.jsonl and passes on to another sink."""

    def __init__(self, path: Path, also: Progress) -> None:
        self._path = path
        self._also = also
        self._seq = _mend(path)
        self._file: IO[bytes] = path.open("ab")

    def step(self, stage: str, text: str) -> None:
        """Append one event and tell the other sink."""
        self._seq += 1
        event = Event(seq=self._seq, t_ns=time.time_ns(), stage=stage, text=text)
        with disk_errors(self._path):
            self._file.write(msgspec.json.encode(event) + b"\n")
            self._file.flush()
        self._also.step(stage, text)

    def amount(self, stage: str, done: float, total: float | None, unit: str) -> None:
        """Amounts are for the eye only; they are not kept."""
        self._also.amount(stage, done, total, unit)

    def close(self) -> None:
        """Close the file; the log stays."""
        self._file.close()


def _mend(path: Path) -> int:
    """Cut an incomplete last line; returns the last sequence number."""
    if not path.exists():
        return 0
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole != len(data):
        os.truncate(path, whole)
    lines = data[:whole].splitlines()
    return msgspec.json.decode(lines[-1], type=Event).seq if lines else 0
