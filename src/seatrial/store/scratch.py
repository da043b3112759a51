"""Temporary folders that a killed process does not leave behind for good.

with scratch("run") as folder:
    ...

The holder locks its folder; the kernel drops the lock with the process, also after ``kill -9``.
Whoever makes the next one in the same place removes those that nobody locks.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".scratch"


@contextmanager
def scratch(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """A folder ``seatrial-PURPOSE-….scratch`` that ends with the block.

    Args:
        place: where it is made; None: the system's temporary folder.
    """
    base = str(place or tempfile.gettempdir())
    _sweep(base)
    folder, lock = _made(purpose, base)
    try:
        with folder:
            yield Path(folder.name)
    finally:
        os.close(lock)


def _made(purpose: str, base: str) -> tuple[tempfile.TemporaryDirectory[str], int]:
    """A new folder and its lock; again if another process took it for left in between."""
    while True:
        folder = tempfile.TemporaryDirectory(_SUFFIX, f"seatrial-{purpose}-", base)
        with suppress(FileNotFoundError):
            lock = os.open(folder.name, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a file system without locks: then nothing is swept either
                fcntl.flock(lock, fcntl.LOCK_EX)
            if Path(folder.name).exists():
                return folder, lock
            os.close(lock)


@functools.cache
def _sweep(base: str) -> None:
    """Remove what killed processes left here; once a process, for the listing may be long."""
    with suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            if entry.name.startswith("seatrial-") and entry.name.endswith(_SUFFIX):
                _remove(entry.path)


def _remove(path: str) -> None:
    """Remove one folder of this user's if nobody holds it."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return  # another user's, or gone
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.getuid():
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return  # held
    finally:
        os.close(lock)
