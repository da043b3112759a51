"""Accelerators: what their vendors publish, one record each.

Figures are dense (no structured sparsity) and per device; ``memory_gb`` and bandwidths are
decimal, as on the datasheet. What a driver reports as usable memory is less and lies in
``reported_gib`` where somebody measured it. A missing dtype means that no figure
was read, or that the device has no such unit: it is never 0 and never derived from another dtype.

Every figure says what it was compared with: ``read`` names the sources in which it was read and
agreed, ``differs`` those that say something else, and ``unread`` is what no source at hand
confirmed. ``seatrial doctor --gpus`` prints all three.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import resources

import msgspec

from seatrial.core.errors import UsageError


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One accelerator model.

    Attributes:
        name: as the workload file spells it: lower case, dashes, memory where it tells apart.
        vendor: nvidia, amd, intel, apple.
        product: the vendor's name.
        architecture: generation (volta, turing, ampere, ada, hopper, blackwell, cdna3, ...).
        capability: CUDA compute capability times ten (90 for 9.0); None where there is no CUDA.
        gfx: AMD's target name.
        memory_gb: decimal gigabytes on the device, or shared with the host if ``unified_memory``.
        bandwidth_gb_s: memory bandwidth, decimal GB/s.
        dense_tflops: dtype (fp32, tf32, fp16, bf16, fp8, int8, fp4, int4) -> dense TFLOP/s (TOP/s).
        interconnect: nvlink, xgmi, ethernet, pcie or none: the widest between devices.
        link_gb_s: sum of both directions per device, GB/s, as vendors quote it.
        pcie: generation of the host link.
        reported_gib: what the driver reports as total, GiB, where measured.
        source: the vendor's document that the figures are from.
        checked: day on which the figures were last compared with sources, ISO date.
        read: figure -> keys of ``gpu_sources()`` in which it was read and agrees within 1.5 %.
        differs: figure -> source -> what that source says instead.
    """

    name: str
    vendor: str
    product: str
    architecture: str
    memory_gb: float
    bandwidth_gb_s: float
    dense_tflops: dict[str, float]
    interconnect: str
    link_gb_s: float | None
    pcie: int | None
    source: str
    checked: str
    read: dict[str, list[str]]
    differs: dict[str, dict[str, float | str]] = {}
    capability: int | None = None
    gfx: str | None = None
    unified_memory: bool = False
    reported_gib: float | None = None

    @property
    def figures(self) -> dict[str, float | int | str]:
        """Every figure of the record by name; FLOPs under their dtype.

        PCIe's rate is the bus's, so the link of a device without another one is no figure.
        """
        own = {
            "memory_gb": self.memory_gb,
            "reported_gib": self.reported_gib,
            "bandwidth_gb_s": self.bandwidth_gb_s,
            "capability": self.capability,
            "gfx": self.gfx,
            "link_gb_s": None if self.interconnect == "pcie" else self.link_gb_s,
            "pcie": self.pcie,
        }
        return {k: v for k, v in own.items() if v is not None} | self.dense_tflops

    @property
    def unread(self) -> list[str]:
        """Figures that were read in no source at hand: the vendor's document was not reachable."""
        return [name for name in self.figures if name not in self.read]

    @property
    def memory_bytes(self) -> int:
        """Bytes that a driver reports: measured where known, else nominal decimal gigabytes.

        80e9 bytes are 74.5 GiB but an 80 GB card reports 79.18 GiB: vendors count HBM in binary
        gigabytes. Nominal binary gigabytes minus 1.1 % (the H100's ratio) stand where no
        measurement does.
        """
        if self.reported_gib is not None:
            return int(self.reported_gib * (1 << 30))
        return int(self.memory_gb * (1 << 30) * 0.989)


class GpuSource(msgspec.Struct, frozen=True, kw_only=True):
    """A document or data set that was read: ``kind`` is vendor, vendor-project, measured (by a
    third party on the device) or secondary (says what a vendor says)."""

    title: str
    kind: str
    read_on: str


@cache
def gpu_sources() -> dict[str, GpuSource]:
    """key -> source, for the keys in ``Gpu.read`` and ``Gpu.differs``."""
    raw = resources.files("seatrial.hardware").joinpath("gpu_sources.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, GpuSource])


@cache
def all_gpus() -> dict[str, Gpu]:
    """name -> record, in the order of the table."""
    raw = resources.files("seatrial.hardware").joinpath("gpus.json").read_bytes()
    return {g.name: g for g in msgspec.json.decode(raw, type=list[Gpu])}


ALIASES = {
    "v100": "v100-32gb",
    "v100s-32gb": "v100-32gb",
    "a100-sxm4-80gb": "a100-80gb",
    "a100-sxm4-40gb": "a100-40gb",
    "h100-sxm5": "h100-80gb",
    "h200-sxm": "h200",
    "rtx-pro-6000-max-q": "rtx-pro-6000",
    "rtx-pro-6000-server": "rtx-pro-6000",
    "rx-6800xt": "rx-6800-xt",
    "7900-xtx": "rx-7900-xtx",
    "a100": "a100-80gb",
    "h100": "h100-80gb",
    "h100-sxm": "h100-80gb",
    "h100-sxm-80gb": "h100-80gb",
    "h100-pcie": "h100-pcie-80gb",
    "h100-nvl": "h100-nvl-94gb",
    "h200-141gb": "h200",
    "h20": "h20-96gb",
    "a800": "a800-80gb",
    "h800": "h800-80gb",
    "b200-180gb": "b200",
    "gtx-1060": "gtx-1060-6gb",
    "rtx-a2000": "rtx-a2000-6gb",
    "rx-6750-gre": "rx-6750-gre-12gb",
    "t4-16gb": "t4",
    "l4-24gb": "l4",
    "l40s-48gb": "l40s",
    "rtx-3090-24gb": "rtx-3090",
    "rtx-4090-24gb": "rtx-4090",
    "rtx-5090-32gb": "rtx-5090",
    "rtx-6000": "rtx-6000-ada",
    "dgx-spark": "gb10",
    "strix-halo": "ryzen-ai-max-395",
    "ryzen-ai-max+-395": "ryzen-ai-max-395",
    "radeon-8060s": "ryzen-ai-max-395",
    "jetson-agx-orin": "jetson-orin",
    "jetson-agx-thor": "jetson-thor",
    "mi250": "mi250x",
    "radeon-ai-pro-r9700": "r9700",
    "a100-pcie": "a100-pcie-80gb",
    "a30-24gb": "a30",
    "gh200": "h100-96gb",
    "rtx-3060-12gb": "rtx-3060",
    "rtx-3080-10gb": "rtx-3080",
    "rtx-4060-ti": "rtx-4060-ti-8gb",
    "rtx-5060-ti": "rtx-5060-ti-8gb",
    "rtx-4080-16gb": "rtx-4080",
    "rtx-5080-16gb": "rtx-5080",
    "rtx-8000": "quadro-rtx-8000",
    "rtx-pro-6000-blackwell": "rtx-pro-6000",
    "rtx-pro-5000-48gb": "rtx-pro-5000",
    "tesla-t4": "t4",
    "tesla-p4": "p4",
    "tesla-p40": "p40",
    "tesla-p100": "p100-16gb",
    "p100": "p100-16gb",
    "k80": "tesla-k80",
    "mi50": "mi50-16gb",
    "rx-9060-xt-16gb": "rx-9060-xt",
    "arc-a770-16gb": "arc-a770",
    "jetson-orin-64gb": "jetson-orin",
    "jetson-agx-orin-32gb": "jetson-orin-32gb",
    "jetson-orin-nx": "jetson-orin-nx-16gb",
    "jetson-orin-nano": "jetson-orin-nano-8gb",
    "jetson-agx-xavier": "jetson-xavier-32gb",
}


def gpu(name: str) -> Gpu:
    """The record of one GPU, by the workload file's spelling (or a common other one).

    Raises:
        UsageError: no such GPU; names the nearest known.
    """
    key = "-".join(name.strip().lower().replace("_", "-").split())
    table = all_gpus()
    bare = key.removeprefix("nvidia-").removeprefix("amd-").removeprefix("intel-")
    for brand in ("", "geforce-", "tesla-", "radeon-", "instinct-"):
        short = bare.removeprefix(brand)
        found = table.get(ALIASES.get(short, short)) or table.get(f"apple-{short}")
        if found is not None:
            return found
    near = difflib.get_close_matches(key, [*table, *ALIASES], n=1, cutoff=0.5)
    hint = f"did you mean {ALIASES.get(near[0], near[0])}? " if near else ""
    raise UsageError(
        f"no GPU called {name} is known",
        where="hardware.gpu",
        remedy=f"{hint}Known: {', '.join(table)}",
    )
