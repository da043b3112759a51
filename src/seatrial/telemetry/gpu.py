"""NVIDIA GPUs through NVML: use, memory, power, energy, clocks, throttling, strangers.

Without a driver there are no GPUs and nothing is an error; a field a device does not offer is
None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import pynvml

T = TypeVar("T")


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of one device.

    ``util`` is the share of time with a kernel running (0..1); ``energy_j`` counts since the
    driver was loaded; ``throttle`` is NVML's bit mask of reasons; ``foreign`` counts processes on
    the device that belong neither to the engine nor to seatrial (None: not told).
    """

    index: int
    util: float | None
    memory_bytes: int | None
    power_w: float | None
    energy_j: float | None
    sm_clock_mhz: float | None
    throttle: int | None
    foreign: int | None


class Gpus:
    """The devices of this machine; ``close`` when done."""

    def __init__(self, indices: list[int] | None = None) -> None:
        self._handles: list[tuple[int, Any]] = []
        self._open = False
        try:
            pynvml.nvmlInit()
            self._open = True
            count = pynvml.nvmlDeviceGetCount()
            wanted = range(count) if indices is None else [i for i in indices if i < count]
            self._handles = [(i, pynvml.nvmlDeviceGetHandleByIndex(i)) for i in wanted]
        except pynvml.NVMLError:
            self._handles = []

    def __len__(self) -> int:
        return len(self._handles)

    def sample(self, own_pids: set[int]) -> list[GpuSample]:
        """One sample a device; ``own_pids`` are those that are no strangers."""
        return [_sample(index, handle, own_pids) for index, handle in self._handles]

    def close(self) -> None:
        """Give NVML back."""
        if self._open:
            self._open = False
            _ask(pynvml.nvmlShutdown)


def _sample(index: int, handle: Any, own_pids: set[int]) -> GpuSample:
    util = _ask(lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
    running = _ask(lambda: pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
    power = _ask(lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000)
    energy = _ask(lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000)
    clock = _ask(lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))
    return GpuSample(
        index=index,
        util=util,
        memory_bytes=_ask(lambda: int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)),
        power_w=power,
        energy_j=energy,
        sm_clock_mhz=None if clock is None else float(clock),
        throttle=_ask(lambda: int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))),
        foreign=None if running is None else sum(p.pid not in own_pids for p in running),
    )


def _ask(question: Callable[[], T]) -> T | None:
    """NVML's answer, or None where the device or the driver has none."""
    try:
        return question()
    except pynvml.NVMLError:
        return None
