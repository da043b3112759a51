"""What the workload must run on, resolved: a GPU of the table, a described processor, or here."""

from __future__ import annotations

import msgspec

from seatrial.core.errors import UsageError
from seatrial.gate.case import Target
from seatrial.hardware import Gpu, Host, gpu
from seatrial.workload.spec import Cpu, Hardware

GB = 10**9


def resolve_target(hardware: Hardware, host: Host) -> Target:
    """The target of a workload; without a named GPU or processor it is this machine.

    A GPU that is in no table is kept by name: what depends on its figures becomes ``unknown``.
    """
    if hardware.gpu:
        return _gpu(hardware, host)
    if hardware.cpu == "auto" or hardware.cpu is None:
        return _here(hardware, host)
    return _described(hardware, hardware.cpu, host)


def _lookup(name: str) -> Gpu | None:
    try:
        return gpu(name)
    except UsageError:
        return None


def _gpu(hardware: Hardware, host: Host) -> Target:
    name = hardware.gpu or ""
    found = _lookup(name)
    mine = [d.gpu for d in host.gpus if d.gpu]
    here = bool(found) and found is not None and mine.count(found.name) >= hardware.count
    cpu = hardware.cpu if isinstance(hardware.cpu, Cpu) else None
    gigabytes = hardware.memory_gb or (cpu.memory_gb if cpu else None)
    memory = int(gigabytes * GB) if gigabytes else None
    return Target(
        gpu=found,
        gpu_name=found.name if found else name,
        count=max(hardware.count, 1),
        nodes=max(hardware.nodes, 1),
        cpu_name=None,
        arch=cpu.arch if cpu else host.arch if here else None,
        flags=[f.lower() for f in cpu.flags] if cpu else host.flags if here else [],
        cores=host.usable_cores if here else None,
        memory_bytes=memory or (host.usable_memory_bytes if here else None),
        driver=hardware.driver or (host.driver if here else None),
        os=hardware.os,
        glibc=host.glibc if here else None,
        here=here,
    )


def _here(hardware: Hardware, host: Host) -> Target:
    """This machine: its accelerators unless a processor is asked for, else its processor."""
    devices = [d for d in host.gpus if d.gpu] if hardware.cpu is None else []
    if devices:
        named = msgspec.structs.replace(hardware, gpu=devices[0].gpu, count=len(devices))
        return _gpu(named, host)
    memory = int(hardware.memory_gb * GB) if hardware.memory_gb else host.usable_memory_bytes
    return Target(
        gpu=None,
        gpu_name=None,
        count=max(hardware.count, 1),
        nodes=max(hardware.nodes, 1),
        cpu_name=host.cpu_name,
        arch=host.arch,
        flags=host.flags,
        cores=host.usable_cores,
        memory_bytes=memory,
        driver=None,
        os=hardware.os or host.os,
        glibc=host.glibc,
        here=True,
    )


def _described(hardware: Hardware, cpu: Cpu, host: Host) -> Target:
    memory = cpu.memory_gb or hardware.memory_gb
    return Target(
        gpu=None,
        gpu_name=None,
        count=max(hardware.count, 1),
        nodes=max(hardware.nodes, 1),
        cpu_name=cpu.name,
        arch=cpu.arch or "x86_64",
        flags=[f.lower() for f in cpu.flags],
        cores=cpu.cores,
        memory_bytes=int(memory * GB) if memory else None,
        driver=None,
        os=hardware.os,
        glibc=None,
        here=False,
    )
