"""Memory pressure: the engine in a cgroup that is smaller than what it was seen to use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from seatrial.core.errors import EngineError
from seatrial.engines import http
from seatrial.lifecycle.stage import Stage

CGROUPS = Path("/sys/fs/cgroup")
SHARE = 0.8
"""The limit as a share of the resident memory seen without one."""


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants, shared pages counted in each."""
    total = 0
    with suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.Error):
                total += process.memory_info().rss
    return total


@contextmanager
def memory_cgroup(limit_bytes: int, root: Path = CGROUPS) -> Iterator[Path | None]:
    """A cgroup with this limit: yields its ``cgroup.procs``, or None where none may be made.

    Version 2 (``memory.max``) and version 1 (``memory.limit_in_bytes``) are both tried.
    """
    for parent, knob in ((root, "memory.max"), (root / "memory", "memory.limit_in_bytes")):
        folder = parent / f"seatrial-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        # in a folder that is no cgroup the kernel puts no such files, and none may be made
        usable = (folder / knob).exists() and (folder / "cgroup.procs").exists()
        try:
            if usable:
                (folder / knob).write_text(str(limit_bytes))
        except OSError:
            usable = False
        try:
            if usable:
                yield folder / "cgroup.procs"
                return
        finally:
            with suppress(OSError):
                folder.rmdir()
    yield None


def pressure(stage: Stage, resident: int) -> dict[str, Any] | None:
    """Start and ask the engine within ``SHARE`` of ``resident`` bytes; None: not permitted."""
    limit = int(resident * SHARE)
    with memory_cgroup(limit) as procs:
        if procs is None:
            return None
        found: dict[str, Any] = {"limit_bytes": limit, "resident_bytes": resident}
        try:
            with stage.start("memory", cgroup_procs=str(procs)) as engine:
                reply = http.post(
                    engine.base_url, engine.adapter.routes.chat, stage.body(engine, 16)
                )
                found |= {
                    "starts": True,
                    "answers": reply.ok,
                    "start_s": round(engine.cold_start_s["total"] or 0.0, 3),
                }
        except EngineError as error:
            found |= {"starts": False, "answers": False, "says": error.what}
        return {**found, "peak_bytes": peak_bytes(procs.parent)}


def peak_bytes(cgroup: Path) -> int | None:
    """The most memory the cgroup held; None where the kernel does not tell."""
    for name in ("memory.peak", "memory.max_usage_in_bytes"):
        with suppress(OSError, ValueError):
            return int((cgroup / name).read_text())
    return None
