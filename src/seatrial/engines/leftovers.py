"""What is running: a note per engine process, so that nothing is forgotten after a kill -9.

``home_dir()/running/PID-STARTED.json`` is written right after the start and removed after the
stop. The keeper ends an engine when seatrial dies; this registry is for the case in which the
keeper was killed as well, and for engines that were started to stay (``engines start``).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import psutil

from seatrial.core.folders import home_dir
from seatrial.store.atomic import write_bytes

SCHEMA = "seatrial/running/1"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """One started engine; pids are told from reused ones by their creation time."""

    schema: str
    engine: str
    version: str
    model: str
    base_url: str
    log: str
    started_at: str
    pid: int
    created: float
    keeper_pid: int
    owner_pid: int
    owner_created: float
    detached: bool


def folder() -> Path:
    """Where the notes are."""
    return home_dir() / "running"


def note_path(entry: Running) -> Path:
    """The note's file."""
    return folder() / f"{entry.pid}-{int(entry.created * 1000)}.json"


def note(entry: Running) -> None:
    """Remember an engine."""
    write_bytes(note_path(entry), msgspec.json.encode(entry))


def forget(entry: Running) -> None:
    """The engine has been stopped."""
    note_path(entry).unlink(missing_ok=True)


def own_pid() -> int:
    """This process."""
    return os.getpid()


def own_created() -> float:
    """When this very process was created: with the pid, its identity."""
    return psutil.Process().create_time()


def same_process(pid: int, created: float) -> bool:
    """Is the process with this pid still the one created then?"""
    try:
        process = psutil.Process(pid)
        return (
            abs(process.create_time() - created) < 0.05 and process.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.Error:
        return False


def running() -> list[Running]:
    """Every engine that was started from here and still runs; notes of ended ones are removed."""
    alive = []
    for path in sorted(folder().glob("*.json")):
        try:
            entry = msgspec.json.decode(path.read_bytes(), type=Running)
        except (OSError, msgspec.DecodeError):
            path.unlink(missing_ok=True)
            continue
        if same_process(entry.pid, entry.created):
            alive.append(entry)
        else:
            path.unlink(missing_ok=True)
    return alive


def stop(entry: Running, grace_s: float = 10.0) -> None:
    """SIGTERM, grace, SIGKILL for an engine that another seatrial started."""
    if same_process(entry.pid, entry.created):
        tree = _tree(entry.pid)
        _signal(entry.pid, signal.SIGTERM)
        _signal(entry.pid, signal.SIGCONT)
        _, left = psutil.wait_procs(tree, timeout=grace_s)
        for process in left:
            _signal(process.pid, signal.SIGKILL)
        psutil.wait_procs(left, timeout=5.0)
    forget(entry)


def sweep(grace_s: float = 5.0) -> list[Running]:
    """Stop engines whose seatrial is gone; returns what was stopped, to be named."""
    stopped = []
    for entry in running():
        if entry.detached or same_process(entry.owner_pid, entry.owner_created):
            continue
        stop(entry, grace_s)
        stopped.append(entry)
    return stopped


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return
