"""What this machine is: the only place in the product that looks.

Nothing here raises because a file is missing: a container without /proc/cpuinfo or a host
without a GPU is a fact, not an error. Every read is bounded. A cgroup's limit is what the
process may use; the host's figure is what there is; both are kept.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import msgspec
import psutil

from seatrial.hardware.cgroup import Limits, read_limits
from seatrial.hardware.devices import Device, find_devices

_READ_MAX = 1 << 20


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """This machine.

    Attributes:
        cpu_name: the model name the kernel gives, "" if it gives none.
        arch: x86_64, aarch64, arm64, ...
        flags: instruction-set flags as the kernel spells them (avx2, avx512f, amx_tile, asimd).
        cores: logical CPUs of the host; ``usable_cores`` after affinity and cgroup quota.
        memory_bytes: physical memory; ``usable_memory_bytes`` after the cgroup's limit.
        gpus: accelerators found, in the driver's order.
        driver: the GPU driver's version, None without one.
        os, kernel, glibc, python: versions, "" where not known.
        numa_nodes: number of NUMA nodes, None where not known.
        container: how we know that this is a container, None if it does not look like one.
    """

    cpu_name: str
    arch: str
    flags: list[str]
    cores: int
    usable_cores: float
    memory_bytes: int
    usable_memory_bytes: int
    limits: Limits
    gpus: list[Device]
    driver: str | None
    os: str
    kernel: str
    glibc: str
    python: str
    numa_nodes: int | None
    container: str | None

    def has_flags(self, *flags: str) -> bool:
        """Whether the processor has all of these instruction-set flags."""
        return set(flags) <= set(self.flags)


def detect(*, root: Path = Path("/")) -> Host:
    """Look at this machine. ``root`` stands for / in tests; GPUs are looked for only at /."""
    name, flags = _cpu(root)
    limits = read_limits(root)
    memory = psutil.virtual_memory().total
    affinity = _affinity()
    devices, driver = find_devices() if root == Path("/") else ([], None)
    cores = os.cpu_count() or 1
    return Host(
        cpu_name=name or platform.processor(),
        arch=platform.machine(),
        flags=flags,
        cores=cores,
        usable_cores=min(float(affinity), limits.cpus if limits.cpus else float(affinity)),
        memory_bytes=memory,
        usable_memory_bytes=min(memory, limits.memory_bytes or memory),
        limits=limits,
        gpus=devices,
        driver=driver,
        os=platform.system().lower(),
        kernel=platform.release(),
        glibc=platform.libc_ver()[1],
        python=".".join(map(str, sys.version_info[:3])),
        numa_nodes=_numa_nodes(root),
        container=_container(root),
    )


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_text(path: Path) -> str:
    """At most 1 MiB of a text file; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_READ_MAX).decode("utf-8", "replace")
    except OSError:
        return ""


def _cpu(root: Path) -> tuple[str, list[str]]:
    """Model name and flags of the first processor in /proc/cpuinfo (x86: flags, Arm: Features)."""
    name = ""
    flags: list[str] = []
    for line in read_text(root / "proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        key = key.strip().lower()
        if key == "model name" and not name:
            name = value.strip()
        elif key in ("flags", "features") and not flags:
            flags = value.split()
        if name and flags:
            break
    return name, sorted(flags)


def _numa_nodes(root: Path) -> int | None:
    folder = root / "sys/devices/system/node"
    try:
        return sum(1 for p in folder.iterdir() if p.name[:4] == "node" and p.name[4:].isdigit())
    except OSError:
        return None


def _container(root: Path) -> str | None:
    for mark in (".dockerenv", "run/.containerenv"):
        if (root / mark).exists():
            return f"/{mark}"
    if (root / "var/run/secrets/kubernetes.io").exists():
        return "/var/run/secrets/kubernetes.io"
    return None
