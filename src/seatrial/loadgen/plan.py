"""What a run will send, made beforehand and laid down in files that the workers read.

``bodies.bin`` holds the request bodies end to end, ``columns.bin`` the int64 columns. A worker
reads one body at a time as it comes due, so that a million requests need little memory.
"""

from __future__ import annotations

import os
from array import array
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

COLUMNS = ("scheduled_ns", "offset", "session", "turn", "cancel_tokens", "cancel_ns")
ANSWER_MARK = "@@seatrial-answer-{turn}@@"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where requests go.

    Attributes:
        path: route with any prefix, e.g. ``/v1/chat/completions``.
        route: which of ``chat``, ``completions``, ``responses``, ``ollama`` it is.
        headers: sent with every request; a secret in it never leaves the job file.
        verify_tls: False accepts any certificate, and the result says so.
    """

    host: str
    port: int
    path: str
    route: str
    tls: bool = False
    verify_tls: bool = True
    ca_file: str | None = None
    headers: dict[str, str] = {}


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """How requests are released.

    Attributes:
        mode: ``open`` (each at its time) or ``closed`` (``users`` at once, each waiting).
        users: of a closed loop.
        think_ns: mean pause of a user between answer and next request (exponential).
        ramp_ns: the users of a closed loop start evenly over this time.
        max_in_flight: 0 is no cap; what waits for it counts as late.
        duration_ns: end of the window; 0 is: until all are answered.
        stall_ns: silence after which a request is given up.
        connections: opened before the clock starts.
        fresh: a new connection for every request.
        reader: ``compiled`` or ``plain``; ``auto`` takes the compiled one for many connections
            where it works. Both give the same.
    """

    mode: str = "open"
    users: int = 0
    think_ns: int = 0
    ramp_ns: int = 0
    max_in_flight: int = 0
    duration_ns: int = 0
    stall_ns: int = 60_000_000_000
    connections: int = 1
    fresh: bool = False
    reader: str = "auto"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's orders.

    ``judge``: read the answers after the run and leave outcomes beside the spool; ``keep_text``:
    with their text.
    """

    folder: str
    worker: int
    workers: int
    seed: int
    requests: int
    run_id: str
    target: Target
    load: Load
    judge: bool = True
    keep_text: bool = False

    def file(self, kind: str) -> Path:
        """Where this worker keeps its ``json``, ``err``, ``spool`` or ``outcomes``."""
        return Path(self.folder) / f"worker-{self.worker}.{kind}"


def write_columns(folder: Path, columns: dict[str, NDArray[np.int64]]) -> None:
    """Write the columns in the order of ``COLUMNS``; all of one length."""
    with (folder / "columns.bin").open("wb") as file:
        for name in COLUMNS:
            file.write(np.ascontiguousarray(columns[name], dtype=np.int64).tobytes())


class PlanReader:
    """The worker's view of the plan: columns in memory, bodies on disk."""

    def __init__(self, folder: Path, requests: int) -> None:
        sizes = {name: requests + (name == "offset") for name in COLUMNS}
        with (folder / "columns.bin").open("rb") as file:
            for name in COLUMNS:
                column = array("q")
                column.frombytes(file.read(8 * sizes[name]))
                setattr(self, name, column)
        self._fd = os.open(folder / "bodies.bin", os.O_RDONLY)

    scheduled_ns: array[int]
    offset: array[int]
    session: array[int]
    turn: array[int]
    cancel_tokens: array[int]
    cancel_ns: array[int]

    def body(self, index: int) -> bytes:
        """The body of one request."""
        start = self.offset[index]
        return os.pread(self._fd, self.offset[index + 1] - start, start)

    def close(self) -> None:
        """Close the file of bodies."""
        os.close(self._fd)
