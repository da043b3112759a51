"""Accelerators in this machine: NVML, else nvidia-smi, else rocm-smi, else Apple's own chip.

NVML is the driver's library (no process, microseconds); nvidia-smi is its command line, there
when only the binary is mounted into a container. Answers are bounded and parsed strictly: a
tool that prints something else than expected yields no device, never half of one.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

import msgspec

from seatrial.hardware.gpu import all_gpus

_TIMEOUT_S = 10
_MAX_DEVICES = 64


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One accelerator found.

    ``gpu`` is its name in our table, None if it is not there; ``capability`` as the driver says
    (90 for 9.0); ``memory_bytes`` the driver's total; ``found_by`` nvml, nvidia-smi, rocm-smi,
    sysctl.
    """

    index: int
    product: str
    gpu: str | None
    vendor: str
    capability: int | None
    memory_bytes: int | None
    uuid: str | None
    found_by: str


def find_devices() -> tuple[list[Device], str | None]:
    """All accelerators, and the driver's version (None without one)."""
    for look in (_by_nvml, _by_nvidia_smi, _by_rocm_smi, _by_apple):
        devices, driver = look()
        if devices:
            return devices, driver
    return [], None


def name_in_table(product: str, memory_bytes: int | None) -> str | None:
    """Our name for a driver's product string, e.g. "NVIDIA H100 80GB HBM3" -> h100-80gb.

    The longest product family contained in the string wins; memory tells variants apart.
    """
    words = set(re.findall(r"[a-z0-9]+", product.lower()))
    best: tuple[float, str] | None = None
    for name, record in all_gpus().items():
        parts = [p for p in name.split("-") if not re.fullmatch(r"\d+gb", p)]
        if not set(parts) <= words:
            continue
        off = abs(record.memory_gb - memory_bytes / (1 << 30)) if memory_bytes else 0.0
        if off > 0.2 * record.memory_gb:
            continue
        score = 1000.0 * len(parts) - off
        if best is None or score > best[0]:
            best = (score, name)
    return best[1] if best else None


def _by_nvml() -> tuple[list[Device], str | None]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return [], None
    try:
        driver = str(pynvml.nvmlSystemGetDriverVersion())
        count = min(int(pynvml.nvmlDeviceGetCount()), _MAX_DEVICES)
        return [_nvml_device(index) for index in range(count)], driver
    except pynvml.NVMLError:
        return [], None
    finally:
        pynvml.nvmlShutdown()


def _nvml_device(index: int) -> Device:
    import pynvml

    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    product = str(pynvml.nvmlDeviceGetName(handle))
    memory = int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Device(
        index=index,
        product=product,
        gpu=name_in_table(product, memory),
        vendor="nvidia",
        capability=int(major) * 10 + int(minor),
        memory_bytes=memory,
        uuid=str(pynvml.nvmlDeviceGetUUID(handle)),
        found_by="nvml",
    )


def _run(*command: str) -> str:
    """Stdout of a short command; "" if it is not there, fails, or takes too long."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[: 1 << 20].decode("utf-8", "replace") if done.returncode == 0 else ""


def _by_nvidia_smi() -> tuple[list[Device], str | None]:
    fields = "index,name,compute_cap,memory.total,uuid,driver_version"
    return parse_nvidia_smi(
        _run("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits")
    )


def parse_nvidia_smi(text: str) -> tuple[list[Device], str | None]:
    """Devices out of ``index, name, compute_cap, memory.total (MiB), uuid, driver`` lines."""
    devices, driver = [], None
    for line in text.splitlines()[:_MAX_DEVICES]:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != 6 or not cells[0].isdigit() or not cells[3].isdigit():
            continue
        capability = re.fullmatch(r"(\d+)\.(\d)", cells[2])
        memory = int(cells[3]) << 20
        driver = cells[5]
        devices.append(
            Device(
                index=int(cells[0]),
                product=cells[1],
                gpu=name_in_table(cells[1], memory),
                vendor="nvidia",
                capability=int(capability[1] + capability[2]) if capability else None,
                memory_bytes=memory,
                uuid=cells[4],
                found_by="nvidia-smi",
            )
        )
    return devices, driver


def _by_rocm_smi() -> tuple[list[Device], str | None]:
    text = _run(
        "rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--json"
    )
    return parse_rocm_smi(text)


def parse_rocm_smi(text: str) -> tuple[list[Device], str | None]:
    """Devices out of rocm-smi's JSON: ``{"card0": {"Card Series": ..., ...}, "system": {...}}``."""
    try:
        document = msgspec.json.decode(text or "{}", type=dict[str, dict[str, str]])
    except msgspec.DecodeError:
        return [], None
    devices = []
    for card, values in list(document.items())[:_MAX_DEVICES]:
        index = re.fullmatch(r"card(\d+)", card)
        if index is None:
            continue
        product = values.get("Card Series") or values.get("Card series") or "AMD GPU"
        memory = values.get("VRAM Total Memory (B)", "")
        size = int(memory) if memory.isdigit() else None
        devices.append(
            Device(
                index=int(index[1]),
                product=product,
                gpu=name_in_table(product, size),
                vendor="amd",
                capability=None,
                memory_bytes=size,
                uuid=values.get("Unique ID"),
                found_by="rocm-smi",
            )
        )
    return devices, document.get("system", {}).get("Driver version")


def _by_apple() -> tuple[list[Device], str | None]:
    if platform.system() != "Darwin" or platform.machine() != "arm64":
        return [], None
    product = _run("sysctl", "-n", "machdep.cpu.brand_string").strip()
    memory = _run("sysctl", "-n", "hw.memsize").strip()
    size = int(memory) if memory.isdigit() else None
    if not product:
        return [], None
    name = "-".join(product.lower().split())
    device = Device(
        index=0,
        product=product,
        gpu=name if name in all_gpus() else None,
        vendor="apple",
        capability=None,
        memory_bytes=size,
        uuid=None,
        found_by="sysctl",
    )
    return [device], None
