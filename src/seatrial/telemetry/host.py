"""Noise on the host: time stolen by the hypervisor, and CPU that others use.

A cell in which others took a good part of the machine is suspect: its numbers are about the
neighbours as well.
"""

from __future__ import annotations

import os

import msgspec
import psutil

STEAL_SUSPECT = 0.02
"""Share of all CPU time; above it a cell is suspect."""
OTHERS_SUSPECT = 0.10
"""Share of all CPU time used by neither the engine nor seatrial; above it a cell is suspect."""


class HostSample(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of the host: CPU seconds since boot summed over all CPUs."""

    busy_s: float
    steal_s: float
    iowait_s: float
    total_s: float
    load1: float
    memory_available_bytes: int


def sample_host() -> HostSample:
    """The present moment; ``steal_s`` and ``iowait_s`` are 0 where the system has no such field."""
    times = psutil.cpu_times()
    steal = float(getattr(times, "steal", 0.0))
    iowait = float(getattr(times, "iowait", 0.0))
    # guest time is contained in user and nice already
    guest = float(getattr(times, "guest", 0.0)) + float(getattr(times, "guest_nice", 0.0))
    total = sum(times) - guest
    return HostSample(
        busy_s=total - times.idle - iowait - steal,
        steal_s=steal,
        iowait_s=iowait,
        total_s=total,
        load1=os.getloadavg()[0],
        memory_available_bytes=psutil.virtual_memory().available,
    )


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of all CPU time in a window; None when the window was too short to say."""

    steal_share: float | None
    others_share: float | None

    def suspect(self) -> list[str]:
        """Why a cell measured in this window is suspect; empty when it is not."""
        reasons = []
        if self.steal_share is not None and self.steal_share > STEAL_SUSPECT:
            reasons.append(f"the hypervisor took {self.steal_share:.1%} of the CPU time")
        if self.others_share is not None and self.others_share > OTHERS_SUSPECT:
            reasons.append(f"other processes used {self.others_share:.1%} of the CPU time")
        return reasons


def noise(first: HostSample, last: HostSample, own_cpu_s: float) -> Noise:
    """The noise between two moments; ``own_cpu_s`` is what engine and client used meanwhile."""
    span = last.total_s - first.total_s
    if span < 0.5:
        return Noise(steal_share=None, others_share=None)
    others = max(0.0, last.busy_s - first.busy_s - own_cpu_s)
    return Noise(steal_share=(last.steal_s - first.steal_s) / span, others_share=others / span)
