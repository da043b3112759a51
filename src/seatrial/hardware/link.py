"""Links between devices and between machines: bytes per second of one direction.

PCIe: lanes x 8, 16, 32, 64 GT/s with 128b/130b coding (PCI-SIG base specifications 3 to 6), x16.
Ethernet and InfiniBand: the line rate divided by eight. Device links (NVLink, xGMI) are in the
GPU's own record as the sum of both directions, so one direction is half of it.
"""

from __future__ import annotations

from seatrial.core.errors import UsageError
from seatrial.hardware.gpu import Gpu

GB_PER_S: dict[str, float] = {
    "pcie-3": 15.75,
    "pcie-4": 31.5,
    "pcie-5": 63.0,
    "pcie-6": 121.0,
    "ethernet-1g": 0.125,
    "ethernet-10g": 1.25,
    "ethernet-25g": 3.125,
    "ethernet-100g": 12.5,
    "infiniband": 50.0,
}
"""One direction, GB/s; ``infiniband`` is one NDR port (400 Gb/s)."""


def link_gb_s(name: str, gpu: Gpu | None = None) -> float:
    """One-direction bandwidth of a link by the workload file's name.

    Raises:
        UsageError: the link is not known, or is one that this GPU does not have.
    """
    if name in GB_PER_S:
        return GB_PER_S[name]
    if name == "pcie" and gpu is not None and gpu.pcie is not None:
        return GB_PER_S[f"pcie-{gpu.pcie}"]
    if gpu is not None and gpu.interconnect == name and gpu.link_gb_s is not None:
        return gpu.link_gb_s / 2
    of = f" of {gpu.name}" if gpu is not None else ""
    raise UsageError(
        f"no link called {name}{of} is known",
        where="hardware.interconnect",
        remedy=f"one of {', '.join(GB_PER_S)}, or nvlink or xgmi where the GPU has it",
    )
