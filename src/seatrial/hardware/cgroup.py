"""The limits a container puts on us: cgroup v2 (cpu.max, memory.max) and v1.

``cpu.max`` holds "QUOTA PERIOD" in microseconds; quota divided by period is the number of CPUs
(kernel.org, cgroup-v2, "CPU Interface Files"). "max", and v1's quota of -1, mean no limit. The
process's own group and its ancestors all bind, so the smallest value found counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

_HUGE = 1 << 60
"""v1 writes a page-rounded 2**63 for "no limit"."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """``cpus``: CPUs' worth of time, ``memory_bytes``: memory; None: no limit. ``version``: 1, 2"""

    cpus: float | None
    memory_bytes: int | None
    version: int | None


def read_limits(root: Path = Path("/")) -> Limits:
    """The limits that bind this process; all None where there is no cgroup file system."""
    base = root / "sys/fs/cgroup"
    if (base / "cgroup.controllers").exists():
        folders = list(_with_parents(base, _own_group(root, "")))
        return Limits(
            cpus=_smallest(_cpus_v2(f) for f in folders),
            memory_bytes=_smallest_int(_number(f / "memory.max") for f in folders),
            version=2,
        )
    if (base / "memory").exists() or (base / "cpu").exists():
        cpu = list(_with_parents(base / "cpu", _own_group(root, "cpu")))
        memory = list(_with_parents(base / "memory", _own_group(root, "memory")))
        return Limits(
            cpus=_smallest(_cpus_v1(f) for f in cpu),
            memory_bytes=_smallest_int(_number(f / "memory.limit_in_bytes") for f in memory),
            version=1,
        )
    return Limits(cpus=None, memory_bytes=None, version=None)


def _own_group(root: Path, controller: str) -> str:
    """Our path below the controller's root, from /proc/self/cgroup ("0::/a/b", "4:cpu:/a")."""
    try:
        text = (root / "proc/self/cgroup").read_text(errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and controller in parts[1].split(","):
            return parts[2]
    return ""


def _with_parents(base: Path, group: str) -> Iterator[Path]:
    """``base`` and every folder on the way down to our group; ".." in a path is not followed."""
    yield base
    folder = base
    for part in group.split("/"):
        if part in ("", ".", ".."):
            continue
        folder = folder / part
        yield folder


def _cpus_v2(folder: Path) -> float | None:
    words = _words(folder / "cpu.max")
    if len(words) != 2 or not (words[0].isdigit() and words[1].isdigit()) or words[1] == "0":
        return None
    return int(words[0]) / int(words[1])


def _cpus_v1(folder: Path) -> float | None:
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota and period else None


def _number(path: Path) -> int | None:
    words = _words(path)
    if not words or not words[0].isdigit() or int(words[0]) >= _HUGE:
        return None
    return int(words[0])


def _words(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            return file.read(256).decode("ascii", "replace").split()
    except OSError:
        return []


def _smallest(values: Iterator[float | None]) -> float | None:
    return min((v for v in values if v is not None), default=None)


def _smallest_int(values: Iterator[int | None]) -> int | None:
    return min((v for v in values if v is not None), default=None)
