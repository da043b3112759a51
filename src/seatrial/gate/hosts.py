"""What a released build asks of the machine around the accelerator: the driver of its own
minimum, the processor's architecture and byte order, the system, how devices are named.

Each is a fact with a range of releases; here is only how such a fact is read against a machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact
from seatrial.hardware.cuda import driver_key, driver_reaches

_SAME_ARCH = {"arm64": "aarch64", "amd64": "x86_64"}
BIG_ENDIAN = {"s390x", "ppc64"}
_MUSL = ("alpine", "musl", "postmarket", "chimera")
_ARM_HOSTS = ("gb10", "gh200", "gb200", "gb300")
"""GPUs that are sold with an Arm processor only (Grace)."""
_DEVICE_LISTS = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}
"""The variables that choose among a vendor's devices; HIP reads CUDA's name too (ROCm
documentation, GPU isolation techniques)."""


def system(case: Case) -> str | None:
    """linux, windows or macos, as far as the workload names it; WSL is Linux."""
    asked = (case.target.os or "").lower()
    if "wsl" in asked:
        return "linux"
    names = {"windows": "windows", "macos": "macos", "darwin": "macos", "linux": "linux"}
    return next((family for word, family in names.items() if word in asked), None)


def architecture(case: Case) -> str:
    """The processor's architecture as the kernel spells it; unnamed it is x86, or Arm beside a GPU
    that is sold with nothing else."""
    arch = (case.target.arch or ("aarch64" if _grace(case) else "x86_64")).lower()
    return _SAME_ARCH.get(arch, arch)


def _grace(case: Case) -> str | None:
    gpu, asked = case.target.gpu, (case.spec.hardware.gpu or "").lower()
    return next((name for name in _ARM_HOSTS if gpu and name in (gpu.name, asked)), None)


def own_driver_floor(case: Case) -> Finding | None:
    """An engine that asks for a newer driver than its CUDA does: compressed code needs one, and
    older cards a newer one still (``detail.by_capability``: up to this compute, that driver). Null
    where either is not known."""
    fact, driver = case.known.get("requires", "driver"), case.target.driver
    if fact is None or driver is None or case.target.vendor != "nvidia":
        return None
    floor, capability = str(fact.value), case.capability or 0
    for most, higher in fact.detail.get("by_capability", []):
        if capability <= most and driver_key(higher) > driver_key(floor):
            floor = higher
    says = f"{case.engine} {case.version or ''} takes NVIDIA drivers from {floor} on"
    numbers = {"driver": driver, "needs": floor}
    enough = driver_reaches(driver, floor)
    if enough is None:
        return None
    if enough:
        return Finding(
            verdict=Verdict.FEASIBLE,
            says=f"{says}; this is {driver}",
            numbers=dict(numbers),
            facts=[fact],
        )
    alone = bool(fact.detail.get("falls_back"))
    return Finding(
        verdict=Verdict.DEGRADED if alone else Verdict.CONDITIONAL,
        says=f"{says}; this is {driver}"
        + (": it runs on the processor" if alone else f": {fact.condition}"),
        numbers=dict(numbers),
        facts=[fact],
        remedy="upgrade the driver, or a version of the engine that takes this one",
    )


def unloaded_ptx(case: Case) -> Finding | None:
    """A driver of CUDA's own major version runs what was compiled for the chip, and compiles no
    PTX of a newer minor version: kernels that come as PTX alone are refused
    ("compiled with an unsupported toolchain")."""
    fact, driver = case.known.get("requires", "driver:ptx"), case.target.driver
    if fact is None or driver is None or case.capability not in fact.detail.get("capability", []):
        return None
    if driver_reaches(driver, str(fact.value)) is not False:
        return None
    found = by_fact(
        case,
        fact,
        f"driver {driver} on compute {(case.capability or 0) / 10:.1f}",
        verdict=Verdict.CONDITIONAL,
        remedy=f"driver {fact.value}",
    )
    return msgspec.structs.replace(found, numbers={"driver": driver, "needs": str(fact.value)})


def off_the_builds(case: Case) -> Iterator[Finding]:
    """What ``platform_unsupported`` finds beyond the vendor: all of it, as what is soft must not
    hide a refusal."""
    for rule in (_vendor_on_system, _generation, _processor, _from_source, _named_by_uuid):
        if (found := rule(case)) is not None:
            yield found


def _vendor_on_system(case: Case) -> Finding | None:
    """Devices that an engine leaves alone on one system: a vendor's (``platform
    VENDOR+SYSTEM``) or a chip's (``platform gfxNNNN+SYSTEM``)."""
    family, gpu = system(case), case.target.gpu
    names = [gpu.gfx if gpu else None, case.target.vendor] if family else []
    found = (case.known.get("platform", f"{n}+{family}") for n in names if n)
    fact = next((f for f in found if f is not None and f.value in {"processor", "none"}), None)
    if fact is None or case.variable_lifts(fact)[0]:
        return None
    if fact.value == "none":
        return by_fact(case, fact, f"{case.target.gpu_name} under {family}")
    return Finding(
        verdict=Verdict.DEGRADED,
        says=f"{case.target.gpu_name} under {family}: {fact.condition}: it runs on the processor",
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "Linux on the same machine"),
    )


def arm_host(case: Case) -> Finding | None:
    """A wheel is for one processor architecture; Grace is aarch64, and another host may say so."""
    gpu, own = case.target.gpu, case.known.get("platform", "aarch64+cuda")
    if gpu is None or gpu.vendor != "nvidia" or own is None or own.value != "none":
        return None
    if architecture(case) != "aarch64":
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"{_grace(case) or 'the host'} has an Arm processor, {case.engine} "
        f"{case.version or ''} has no CUDA wheel for aarch64",
        facts=[own],
        remedy="the vendor's container for this machine, or a build from source",
    )


def older_system(case: Case, family: str) -> Finding | None:
    """A system that the workload names by number, older than what the build was made for. The
    number follows the system's name, or that of its release (macOS Sonoma 14); a number within a
    word (M4) is no version."""
    fact = case.known.get("requires", f"os:{family}")
    pattern = rf"{family}(?:[\s_(-]+[a-z]+\b)?[\s_()-]*(\d+)"
    named = re.search(pattern, (case.target.os or "").lower())
    if fact is None or named is None or int(named.group(1)) >= int(str(fact.value)):
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"{case.engine} {case.version or ''} takes {family} {fact.value} or later, this is "
        f"{case.target.os}: {fact.condition}",
        numbers={"needs": str(fact.value)},
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "a newer system, or an earlier release"),
    )


def _generation(case: Case) -> Finding | None:
    """A generation of devices without a compute number that a release does not serve."""
    gpu = case.target.gpu
    if gpu is None or case.capability is not None:
        return None
    names = [n for n in (gpu.gfx, gpu.architecture) if n]
    fact = next((f for n in names if (f := case.known.excludes(f"engine+{n}"))), None)
    if fact is None or fact.value == "ended":
        return None
    set_so, ways = case.variable_lifts(fact)
    if set_so:
        return None
    build = fact.detail.get("build")
    found = by_fact(case, fact, case.target.gpu_name or "", remedy="another release or engine")
    if not (build or ways):
        return found
    return msgspec.structs.replace(found, verdict=Verdict.CONDITIONAL, remedy=str(build or ways))


def _processor(case: Case) -> Finding | None:
    """A processor that is no x86: a release has a build for its architecture or has none. What is
    said of ``cpu+other`` holds for each architecture beyond x86-64 and 64-bit Arm."""
    arch = architecture(case)
    if not case.target.on_cpu or arch == "x86_64":
        return None
    fact = case.known.get("platform", f"cpu+{arch}")
    if fact is None and arch != "aarch64":
        fact = case.known.get("platform", "cpu+other")
    if fact is None or fact.value not in {"source", "none"}:
        return None
    what = f"{case.engine} {case.version or ''} on {arch}"
    if fact.value == "none":
        return by_fact(case, fact, arch, remedy="llama.cpp built for this processor")
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"{what}: {fact.condition or 'there is no ready build, it is built from source'}",
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "build it on this machine, or llama.cpp"),
    )


def _from_source(case: Case) -> Finding | None:
    """A vendor whose devices the released wheel serves only after an install of one's own."""
    fact = case.known.get("requires", f"install:{case.target.vendor}")
    if fact is None:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"{case.engine} {case.version or ''} on {case.target.vendor}: {fact.condition}",
        facts=[fact],
        remedy=str(fact.value),
    )


def _named_by_uuid(case: Case) -> Finding | None:
    """A list of devices in the environment whose entries are no numbers: a whole GPU or an
    instance of one (MIG) by its UUID, where the release reads numbers only or drops instances."""
    named = [] if case.target.on_cpu else _listed_devices(case)
    odd = [(name, entry) for name, entry in named if not entry.lstrip("-").isdigit()]
    parts = [(name, entry) for name, entry in odd if entry.upper().startswith("MIG-")]
    unread, dropped = case.known.excludes("devices+uuid"), case.known.excludes("devices+mig")
    if odd and unread is not None and unread.value != "ended":
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=f"{odd[0][0]} names {odd[0][1][:12]}…: {unread.condition}",
            facts=[unread],
            remedy=str(unread.detail.get("remedy") or "name the device by its number"),
        )
    if parts and dropped is not None and dropped.value != "ended":
        return Finding(
            verdict=Verdict.DEGRADED,
            says=f"{parts[0][0]} names {parts[0][1][:12]}…: {dropped.condition}: it runs on the "
            "processor",
            facts=[dropped],
            remedy=str(dropped.detail.get("remedy") or "the whole card, by its number"),
        )
    return None


def _listed_devices(case: Case) -> list[tuple[str, str]]:
    """(variable, entry) of each list of devices that the candidate's environment sets."""
    return [
        (name, entry.strip())
        for name in _DEVICE_LISTS.get(case.target.vendor, ())
        for entry in str(case.candidate.env.get(name, "")).split(",")
        if entry.strip()
    ]


def other_library(case: Case, needs: str) -> Finding | None:
    """A distribution on musl: what is linked against glibc, wheel or program, does not start."""
    asked = (case.target.os or "").lower()
    if not any(word in asked for word in _MUSL):
        return None
    fact = case.known.get("requires", "libc")
    wheel = "manylinux" in (case.known.artefact or "")
    if case.candidate.endpoint or not (needs or wheel or fact):
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"{needs or 'the released build'} of {case.engine} {case.version or ''} is linked "
        f"against glibc, {case.target.os} has musl: it does not start there",
        facts=[fact] if fact else [],
        remedy="the official container image, which brings its own C library, or a build on "
        "this machine",
    )


def by_another_path(case: Case, lacking: list[str]) -> Finding | None:
    """Instructions that are missing, where a flag of the candidate names a path without them."""
    fact = case.known.get("requires", "cpu_flags:elsewhere")
    flags = fact.detail.get("flag") if fact is not None else None
    if fact is None or not isinstance(flags, dict) or not set(lacking) <= set(fact.value):
        return None
    if any(str(case.args.get(name, "")) != value for name, value in flags.items()):
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"the processor lacks {', '.join(lacking)}: {fact.condition}",
        numbers={"lacking": ", ".join(lacking)},
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "llama.cpp built for this processor"),
    )


def other_byte_order(case: Case) -> Finding | None:
    """A GGUF is written in one byte order and is not turned round when it is read."""
    arch = architecture(case)
    if case.form != "gguf" or not case.target.on_cpu or arch not in BIG_ENDIAN:
        return None
    fact = case.known.excludes("gguf+big-endian")
    if fact is None:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"the file is little-endian, {arch} is not: {fact.condition}",
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "a file written in this byte order"),
    )


def unlisted_type(case: Case) -> Finding | None:
    """A 16-bit type that the build for this processor does not compute in; an engine that then
    takes another by itself does so unless the type is asked for by name."""
    arch, model = architecture(case), case.loaded
    if not case.target.on_cpu or arch == "x86_64" or model is None or model.format == "gguf":
        return None
    asked = (case.asked_type or "auto").lower()
    wanted = (model.dtype or "").lower() if asked == "auto" else asked
    wanted = {"half": "float16", "fp16": "float16", "bf16": "bfloat16"}.get(wanted, wanted)
    fact = case.known.excludes(f"{wanted}+{arch}")
    if fact is None or fact.value == "ended" or (asked == "auto" and fact.detail.get("automatic")):
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"{wanted} on {arch}: {fact.condition}",
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "another --dtype"),
    )
