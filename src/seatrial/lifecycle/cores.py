"""Cores for two engines on one machine: a half each, as two cpusets would give them.

During a change of version the old and the new engine run side by side. Engines that compute on
the CPU then want the same cores: every vLLM, for one, binds its threads to all usable cores but the
last (``VLLM_CPU_OMP_THREADS_BIND=auto``). A thread bound to a core on which the other engine spins
got a turn every 0.3 to 25 s, and the new engine never became ready (docs/decisions/0603).
"""

from __future__ import annotations

import os
from pathlib import Path

from seatrial.hardware import detect

CPUS = Path("/sys/devices/system/cpu")
Halves = tuple[list[int] | None, list[int] | None]


def halves(allowed: list[int] | None, root: Path = CPUS) -> Halves:
    """Half of the cores for the old engine and half for the new one; (None, None): no limit.

    Args:
        allowed: the CPUs the candidate is pinned to; None: all that this process may use.

    No limit where a GPU computes, where there is one core only, or where the system pins nothing.
    """
    if not hasattr(os, "sched_getaffinity") or detect().gpus:
        return allowed, allowed
    return divided(sorted(allowed or os.sched_getaffinity(0)), root) or (allowed, allowed)


def divided(cpus: list[int], root: Path = CPUS) -> tuple[list[int], list[int]] | None:
    """CPU numbers in two halves that share no core and, where possible, no socket.

    None for fewer than two cores. An odd core is left to nobody's advantage: it stays unused.
    """
    cores: dict[tuple[int, int], list[int]] = {}
    for cpu in cpus:
        cores.setdefault(_core(cpu, root), []).append(cpu)
    ordered = [cores[key] for key in sorted(cores)]
    half = len(ordered) // 2
    if half == 0:
        return None
    first, second = ordered[:half], ordered[-half:]
    return sorted(c for core in first for c in core), sorted(c for core in second for c in core)


def _core(cpu: int, root: Path) -> tuple[int, int]:
    """Socket and core of a CPU; the CPU itself where the kernel does not tell."""
    topology = root / f"cpu{cpu}" / "topology"
    try:
        socket, core = (
            int((topology / name).read_text()) for name in ("physical_package_id", "core_id")
        )
    except (OSError, ValueError):
        return -1, cpu
    return socket, core
