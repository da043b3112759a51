"""CPU time and memory of a process and all it started, read cheaply.

The tree is walked every few seconds only (that reads the whole of /proc); between walks the
known processes are read, two small files each. CPU time of a process that ended keeps counting.
Resident memory is summed over the tree: pages that processes share count once in each.
"""

from __future__ import annotations

import time

import msgspec
import psutil

REWALK_S = 3.0


class TreeSample(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of a process tree. ``cpu_s`` is user + system since each process began."""

    processes: int
    rss_bytes: int
    cpu_s: float
    threads: int


class Tree:
    """A process tree by its root's pid.

    ``alone``: that process only, with the CPU time of the children it has waited for. A load
    generator's workers end before the last sample, and their time is the client's.
    """

    def __init__(self, pid: int, *, alone: bool = False) -> None:
        self._pid = pid
        self._alone = alone
        self._known: dict[int, psutil.Process] = {}
        self._last_cpu: dict[int, float] = {}
        self._gone_cpu = 0.0
        self._walked = -1e9

    def pids(self) -> set[int]:
        """Processes known at the last walk."""
        return set(self._known)

    def sample(self) -> TreeSample | None:
        """The present moment; None when nothing of the tree is left."""
        now = time.monotonic()
        if now - self._walked > REWALK_S:
            self._walk()
            self._walked = now
        rss = threads = alive = 0
        for pid, process in list(self._known.items()):
            try:
                with process.oneshot():
                    cpu = process.cpu_times()
                    rss += process.memory_info().rss
                    threads += process.num_threads()
                self._last_cpu[pid] = cpu.user + cpu.system
                if self._alone:
                    self._last_cpu[pid] += cpu.children_user + cpu.children_system
                alive += 1
            except psutil.Error:
                self._gone_cpu += self._last_cpu.pop(pid, 0.0)
                del self._known[pid]
        if not alive:
            return None
        cpu_s = self._gone_cpu + sum(self._last_cpu.values())
        return TreeSample(processes=alive, rss_bytes=rss, cpu_s=cpu_s, threads=threads)

    def _walk(self) -> None:
        try:
            root = self._known.get(self._pid) or psutil.Process(self._pid)
            below = [] if self._alone else root.children(recursive=True)
            for process in [root, *below]:
                self._known.setdefault(process.pid, process)
        except psutil.Error:
            return
