"""Hardware: what vendors publish of accelerators, and what this machine is.

``gpu("h100-80gb")`` gives a vendor's figures; ``detect()`` looks at this machine. Nothing else in
the product looks at /proc, cgroups or drivers to find out what it runs on.
"""

from seatrial.hardware.cgroup import Limits
from seatrial.hardware.cuda import driver_suffices, min_driver
from seatrial.hardware.devices import Device
from seatrial.hardware.gpu import Gpu, GpuSource, all_gpus, gpu, gpu_sources
from seatrial.hardware.host import Host, detect
from seatrial.hardware.link import link_gb_s

__all__ = [
    "Device",
    "Gpu",
    "GpuSource",
    "Host",
    "Limits",
    "all_gpus",
    "detect",
    "driver_suffices",
    "gpu",
    "gpu_sources",
    "link_gb_s",
    "min_driver",
]
