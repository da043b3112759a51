"""A trial's folder: who may write in it, and what belongs to it.

One run at a time: the lock is the kernel's (``flock``), so that it vanishes with its holder, also
after ``kill -9``. The workload file is copied in first; a folder that holds a trial of another
workload is refused, never mixed. A run that ends before it made anything of a trial leaves nothing
behind, so that "nothing was written" is true and the mended workload file can be run at once.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.core.ids import sha256_bytes
from seatrial.store.atomic import disk_errors, place_errors, remove_leftovers, write_bytes

WORKLOAD = "workload.yaml"
EVENTS = "events.jsonl"
LOCK = ".lock"
PARTS = ("cells", "predictions", "quality", "probes", "lifecycle", "families", "tuning")


class TrialFolder:
    """Paths of one trial, as DESIGN lays them out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._own: set[str] = set()  # what whoever holds the folder brought, and a trial is not

    def file(self, name: str) -> Path:
        """A file at the top of the trial."""
        return self.path / name

    def cell(self, candidate: str, start: int) -> Path:
        """The folder of one cell; it exists only when the cell is finished."""
        return self.path / "cells" / candidate / f"{start:03d}"

    def finished_cells(self) -> list[Path]:
        """Every finished cell, in the order of candidate and start."""
        return sorted(
            folder
            for folder in (self.path / "cells").glob("*/*")
            if folder.is_dir() and not folder.name.startswith(".")
        )

    def adopt(self, raw: bytes) -> None:
        """Make this the folder of the workload with these bytes, or refuse.

        Raises:
            UsageError: the folder holds a trial of another workload.
        """
        own = self.file(WORKLOAD)
        if own.exists() and sha256_bytes(own.read_bytes()) != sha256_bytes(raw):
            raise UsageError(
                "this folder holds the trial of another workload file (or of an older text of it)",
                where=str(self.path),
                unchanged="everything in it",
                remedy="give another folder with --out, or move this one away",
            )
        if not own.exists():
            if self.path.is_dir() and any(p.name != LOCK for p in self.path.iterdir()):
                raise UsageError(
                    "this folder is not empty and is no trial",
                    where=str(self.path),
                    unchanged="everything in it",
                    remedy="give a new or empty folder with --out",
                )
            write_bytes(own, raw)
            self._own.add(WORKLOAD)

    def sweep(self) -> list[Path]:
        """Remove what a killed run left half-written; returns what was removed."""
        places = [self.path]
        for part in PARTS:
            base = self.path / part
            if base.is_dir():
                places += [base, *(p for p in base.rglob("*") if p.is_dir())]
        return [left for place in places if place.is_dir() for left in remove_leftovers(place)]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process; it vanishes again if nothing of a trial was made in it.

        Raises:
            PrerequisiteError: another run holds it.
        """
        made = [place for place in (self.path, *self.path.parents) if not place.exists()]
        self._own = {name for name in (LOCK, EVENTS) if not self.file(name).exists()}
        with disk_errors(self.path), place_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with self.file(LOCK).open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read(20).strip() or "unknown"
                raise PrerequisiteError(
                    f"another run (process {holder}) is working on this trial",
                    where=str(self.path),
                    unchanged="the trial",
                    remedy="wait for it to end or stop it, then run the same command again",
                ) from None
            if not self.file(LOCK).exists() or os.fstat(lock.fileno()).st_ino != (
                self.file(LOCK).stat().st_ino
            ):  # its last holder took it away between the opening and the locking
                raise PrerequisiteError(
                    "another run of this trial ended in this very moment",
                    where=str(self.path),
                    unchanged="the trial",
                    remedy="run the same command again",
                )
            lock.seek(0)
            lock.truncate()
            lock.write(str(os.getpid()))
            lock.flush()
            try:
                yield
            finally:
                self._withdraw(made)

    def _withdraw(self, made: list[Path]) -> None:
        """Take back what this holder brought, unless anything else is there."""
        found = list(self.path.iterdir()) if self.path.is_dir() else []
        if not {path.name for path in found} <= self._own:
            return
        for path in found:
            path.unlink()
        for place in made:
            try:
                place.rmdir()
            except OSError:  # somebody else's trial lies beside it by now
                return
