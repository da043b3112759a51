"""Files that are whole or absent.

A file is written under a temporary name beside its place, flushed to the disk, and renamed: a
reader sees the old file or the new one, never half. A folder is filled under a temporary name
and renamed likewise; its presence is the statement that everything in it is whole.

``crash_point`` is where the crash tests cut the power: with the environment variable
``SEATRIAL_CRASH_AT=NAME:N`` the process kills itself at the N-th passage of the point NAME
(``*`` for any). It costs one dictionary look-up otherwise.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seatrial.core.errors import PrerequisiteError, UsageError

_TMP_SUFFIX = ".tmp"
_NO_PLACE = (
    PermissionError,
    FileNotFoundError,
    FileExistsError,
    NotADirectoryError,
    IsADirectoryError,
)
_passed = 0


def crash_point(name: str) -> None:
    """A place where the crash tests may kill the process; does nothing otherwise."""
    where = os.environ.get("SEATRIAL_CRASH_AT")
    if where is None:
        return
    global _passed
    wanted, _, count = where.partition(":")
    if wanted in ("*", name):
        _passed += 1
        if _passed >= int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)


def _no_room(error: OSError, path: Path) -> PrerequisiteError:
    return PrerequisiteError(
        "the disk is full" if error.errno != errno.EFBIG else "the file-size limit was reached",
        where=str(path),
        unchanged="the previous content of that place; everything finished before it",
        remedy="free some space (or raise the limit), then run the same command again: it resumes",
    )


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn "no space", "quota" and "file too large" into an error that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise _no_room(error, path) from error
        raise


@contextmanager
def place_errors(path: Path) -> Iterator[None]:
    """Turn "permission denied", "read-only" and a place that cannot be into a usage error.

    Only around what touches ``path`` itself: elsewhere such an error means something else.
    """
    try:
        yield
    except _NO_PLACE as error:
        raise _no_place(error, path) from error
    except OSError as error:
        if error.errno in (errno.EROFS, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP):
            raise _no_place(error, path) from error
        raise


def _no_place(error: OSError, path: Path) -> UsageError:
    return UsageError(
        f"this place cannot be written to: {error.strerror}",
        where=str(path),
        unchanged="the previous content of that place; everything finished before it",
        remedy="give a folder that exists and that you may write to",
    )


def sync_folder(folder: Path) -> None:
    """Make a rename inside ``folder`` survive a power cut."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that it is there whole or not at all.

    Raises:
        PrerequisiteError: the disk is full; the previous content is still there.
        UsageError: the place cannot be written to.
    """
    with place_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(f".{path.name}.{os.getpid()}{_TMP_SUFFIX}")
    try:
        with place_errors(path), disk_errors(path):
            with tmp.open("wb") as file:
                half = len(data) // 2
                file.write(data[:half])
                crash_point("half-written")
                file.write(data[half:])
                file.flush()
                os.fsync(file.fileno())
            crash_point("before-rename")
            tmp.replace(path)
            sync_folder(path.parent)
        crash_point("after-rename")
    finally:
        with suppress(OSError):
            tmp.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Fill a folder that appears at ``path`` only when the block ends without an error.

    What an earlier crash left under a temporary name is removed first.

    Raises:
        PrerequisiteError: the disk is full; ``path`` does not exist.
        UsageError: the place cannot be written to.
        FileExistsError: ``path`` is there already; finished things are never overwritten.
    """
    if path.exists():
        raise FileExistsError(path)
    tmp = path.with_name(f".{path.name}.{os.getpid()}{_TMP_SUFFIX}")
    with place_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path.parent)
        tmp.mkdir()
    try:
        with disk_errors(path):
            yield tmp
            crash_point("before-folder-rename")
            tmp.rename(path)
            sync_folder(path.parent)
        crash_point("after-folder-rename")
    finally:
        if tmp.exists():
            shutil.rmtree(tmp, ignore_errors=True)


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove what a killed process left half-written in ``folder``; returns what it removed.

    The owner's process id is in the name: what belongs to a living process is left alone.
    """
    removed = []
    for left in folder.glob(f".*{_TMP_SUFFIX}"):
        pid = left.name.removesuffix(_TMP_SUFFIX).rpartition(".")[2]
        if pid.isdigit() and int(pid) != os.getpid() and _alive(int(pid)):
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
        removed.append(left)
    return removed


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
