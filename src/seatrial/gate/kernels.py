"""Constraints on format x quantisation x GPU: every layer must agree.

Compiled targets, the engine's own floor, the method's gate, the kernel table: a single "minimum
compute capability" is not a capability. Loading, running on an optimised kernel and doing the
task are three findings; what is emulated says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint

_CT = {
    "w4a16": "compressed-tensors:wna16",
    "w8a16": "compressed-tensors:wna16",
    "fp8": "compressed-tensors:w8a16-fp8",
    "fp8-block": "compressed-tensors:w8a16-fp8",
    "w8a16-fp8": "compressed-tensors:w8a16-fp8",
    "nvfp4": "compressed-tensors:nvfp4",
    "w4a8-fp8": "compressed-tensors:w4a8-fp8",
    "w8a8-int8": "compressed-tensors:w8a8-int8",
}
_FP8 = {"fp8", "fp8-block"}


def method_subjects(case: Case) -> list[str]:
    """Under which names the facts may speak of this checkpoint's method, most exact first."""
    quant = case.quant
    if quant is None or quant.method == "gguf":
        return []
    if quant.method == "compressed-tensors":
        return [s for s in (_CT.get(quant.scheme),) if s]
    names = [quant.method]
    if quant.scheme == "nvfp4":
        names += ["nvfp4:weight-only", "nvfp4"]
    elif quant.scheme in _FP8:
        names += ["fp8:weight-only"] if quant.method != "modelopt" else []
        names += ["fp8"]
    elif quant.scheme == "mxfp4":
        names += ["mxfp4"]
    return list(dict.fromkeys(names))


def kind(case: Case) -> str | None:
    """The numeric family that hardware supports or not: fp8, nvfp4, mxfp4."""
    quant = case.quant
    if quant is None:
        return None
    if quant.scheme in _FP8:
        return "fp8"
    return quant.scheme if quant.scheme in {"nvfp4", "mxfp4"} else None


def applies(mark: int, capability: int) -> bool:
    """Whether ``smNN`` in an exclusion means this GPU: up to Hopper a floor that is missing
    (all of that generation and older), on Blackwell one family, or one chip if it ends in 1."""
    if mark < 100:
        return capability // 10 <= mark // 10
    return capability == mark if mark % 10 else capability // 10 == mark // 10


def marked(case: Case, stem: str) -> Iterator[tuple[Fact, bool]]:
    """``excludes`` facts ``STEM+smNN`` that mean this GPU, and whether they hold for this
    version (else they held for an earlier one and nobody has shown that they ended)."""
    capability = case.capability
    if capability is None:
        return
    for fact, holds in case.known.history("excludes"):
        head, plus, mark = fact.subject.rpartition("+sm")
        if plus and head == stem and mark.isdigit() and applies(int(mark), capability):
            yield fact, holds


@constraint(
    "kernel_missing_for_arch",
    asks="Does the binary hold code, and the kernel table a kernel, for this GPU?",
    needs="GPU, facts min_capability engine, cuda_targets, excludes X+smNN",
    verdicts=("infeasible", "unknown"),
    remedy="another GPU generation, an older or newer build, another engine, another format",
)
def kernel_missing_for_arch(case: Case) -> Iterator[Finding]:
    capability = case.capability
    if capability is None:
        return
    for stem in _stems(case):
        for fact, holds in marked(case, stem):
            yield _excluded(case, fact, holds, capability)
    gate = engine_floor(case, binary=False)
    if gate is not None and capability < gate.value:
        return
    floor = engine_floor(case, binary=True)
    if floor is not None and capability < floor.value:
        yield Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{case.engine} {case.version or ''} holds no code below compute "
            f"{floor.value / 10:.1f}; the GPU is {capability / 10:.1f} (no kernel image)",
            numbers={"capability": capability, "min_capability": floor.value},
            facts=[floor],
            remedy=str(floor.detail.get("remedy") or _older(case)),
        )
        return
    yield from _targets(case, capability)


def _stems(case: Case) -> list[str]:
    family, names = kind(case), []
    if case.architecture:
        names.append(case.architecture)
    if family:
        names += [f"{family}_moe"] if case.moe else [f"{family}_dense"]
        names.append(family)
    if case.quant is not None and case.quant.method != family:
        names.append(case.quant.method)
    return names


def _excluded(case: Case, fact: Fact, holds: bool, capability: int) -> Finding:
    if holds:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{fact.subject}: {fact.condition or 'refused on this GPU'}",
            numbers={"capability": capability},
            facts=[fact],
            remedy=_remedy(case, fact),
        )
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{fact.subject} failed before {fact.until} ({fact.condition}); that "
        f"{case.version} mended it is not shown",
        numbers={"capability": capability},
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or ""),
        probe=case.probe("load_and_kernel"),
    )


def _remedy(case: Case, fact: Fact) -> str:
    """The fact's own, else that of the gate of the same precision."""
    gate = case.known.get("min_capability", kind(case) or "")
    own = fact.detail.get("remedy") or (gate.detail.get("remedy") if gate else None)
    return str(own or "another GPU generation, engine or format")


def engine_floor(case: Case, *, binary: bool) -> Fact | None:
    """The engine's floor: of its compiled code, or of its own run-time check and documents."""
    if case.known.facts is None:
        return None
    found = []
    for fact in case.known.facts.get_all("min_capability", "engine", layer=case.known.layer):
        words = (fact.condition or "").lower()
        compiled = fact.source.kind == "binary" or "kernel image" in words or "cuda 13" in words
        if isinstance(fact.value, int) and compiled == binary:
            found.append(fact)
    return max(found, key=lambda f: f.value, default=None)


def _targets(case: Case, capability: int) -> Iterator[Finding]:
    """Compiled targets: machine code runs on the same major number from its minor up; PTX of a
    lower number is compiled by the driver (CUDA programming guide, binary compatibility).

    Where an engine has several builds one that fits is enough. PTX that a project's own build
    list ships for a GPU is its documented path; PTX found in a wheel may cover only a part.
    """
    facts = [f for f in case.known.all("cuda_targets") if f.subject in _MAIN and _codes(f)[0]]
    judged = [_one_target(case, fact, capability) for fact in facts]
    best = min(judged, key=lambda f: _WORSE.index(f.verdict), default=None)
    if best is not None:
        yield best


_MAIN = ("_C_stable_libtorch", "_C", "common_ops", "flash_ops", "_turbomind", "cuda-12", "cuda-13")
_WORSE = (Verdict.FEASIBLE, Verdict.UNKNOWN, Verdict.INFEASIBLE)


def _one_target(case: Case, fact: Fact, capability: int) -> Finding:
    codes, ptx = _codes(fact)
    native = [c for c in codes if c // 10 == capability // 10 and c <= capability]
    lower = [p for p in ptx if p <= capability]
    numbers = {"capability": capability}
    if native:
        return Finding(
            verdict=Verdict.FEASIBLE,
            facts=[fact],
            numbers=dict(numbers),
            says=f"machine code for compute {max(native) / 10:.1f} runs on {capability / 10:.1f}",
        )
    if lower:
        meant = fact.source.kind != "binary"
        return Finding(
            verdict=Verdict.FEASIBLE if meant else Verdict.UNKNOWN,
            facts=[fact],
            numbers=dict(numbers),
            probe=None if meant else case.probe("load_and_kernel"),
            says=f"no machine code for compute {capability / 10:.1f}: the driver compiles PTX of "
            f"{max(lower) / 10:.1f} at start",
        )
    return Finding(
        verdict=Verdict.INFEASIBLE,
        facts=[fact],
        remedy=_older(case),
        says=f"the build's code is for compute {_list(codes)}; the GPU is "
        f"{capability / 10:.1f} (no kernel image)",
        numbers={"capability": capability, "lowest": min(codes)},
    )


def _codes(fact: Fact) -> tuple[list[int], list[int]]:
    """(machine code, PTX) targets; empty where the reader could not tell."""
    codes = fact.value if isinstance(fact.value, list) else []
    ptx = fact.detail.get("ptx")
    ptx = ptx if isinstance(ptx, list) else []
    return [c for c in codes if isinstance(c, int)], [p for p in ptx if isinstance(p, int)]


def _list(codes: list[int]) -> str:
    return ", ".join(f"{c / 10:.1f}" for c in sorted(codes))


def _older(case: Case) -> str:
    older = {
        "vllm": "an older vLLM built with CUDA 12, LMDeploy TurboMind or llama.cpp",
        "sglang": "vLLM (FP16, AWQ), LMDeploy TurboMind or llama.cpp",
    }
    return older.get(case.engine, "llama.cpp (CUDA 12 build), or a newer GPU")


@constraint(
    "compute_capability",
    asks="Does the engine, and the quantisation method, admit this compute capability?",
    needs="GPU, quant_method of config.json, fact min_capability",
    verdicts=("infeasible", "unknown"),
    remedy="another checkpoint of the model (AWQ, GPTQ, GGUF), a newer GPU, another engine",
)
def compute_capability(case: Case) -> Iterator[Finding]:
    capability = case.capability
    if capability is None:
        return
    floor = engine_floor(case, binary=False)
    if floor is not None and capability < floor.value:
        yield Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{case.engine} {case.version or ''} needs compute {floor.value / 10:.1f}, "
            f"the GPU is {capability / 10:.1f}",
            numbers={"min_capability": floor.value, "capability": capability},
            facts=[floor],
            remedy=str(floor.detail.get("remedy") or _older(case)),
        )
    yield from _method_gate(case, capability)


def _method_gate(case: Case, capability: int) -> Iterator[Finding]:
    subjects = method_subjects(case)
    quant = case.quant
    if not subjects or quant is None:
        return
    fact = next((f for s in subjects if (f := case.known.get("min_capability", s))), None)
    label = quant.method + (f" {quant.scheme}" if quant.scheme != quant.method else "")
    if fact is None or not isinstance(fact.value, int):
        yield from _no_gate(case, label)
        return
    numbers = {"min_capability": fact.value, "capability": capability}
    if (other := _moved(case, fact, capability)) is not None:
        yield Finding(
            verdict=Verdict.UNKNOWN,
            says=f"the gate of {label} is compute {fact.value / 10:.1f} before {case.version} and "
            f"{other.value / 10:.1f} in {other.version}: which of the two holds here was not read",
            numbers=dict(numbers),
            facts=[fact, other],
            probe=case.probe("facts"),
        )
        return
    if capability < fact.value:
        yield Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"quant_method {label} needs compute {fact.value / 10:.1f} in {case.engine} "
            f"{case.version or ''}; the GPU is {capability / 10:.1f} (min capability: "
            f"{fact.value}, current capability: {capability})",
            numbers=dict(numbers),
            facts=[fact],
            remedy=_other_checkpoint(case, capability),
        )
    else:
        yield Finding(
            verdict=Verdict.FEASIBLE,
            numbers=dict(numbers),
            facts=[fact],
            says=f"{label} is admitted from compute {fact.value / 10:.1f}",
        )


def _moved(case: Case, fact: Fact, capability: int) -> Fact | None:
    """For a version between two that were read: the later gate, if the GPU lies between them."""
    later = case.known.later
    if case.known.exact or later is None or fact.state == "documented":
        return None
    other = later.get("min_capability", fact.subject, layer=case.known.layer)
    if other is None or not isinstance(other.value, int):
        return None
    return other if (capability < other.value) != (capability < fact.value) else None


_UNITS = {"fp8": 89, "fp8-block": 89, "nvfp4": 100, "mxfp4": 100}


def _no_gate(case: Case, label: str) -> Iterator[Finding]:
    """No gate is known: where the method is listed and the GPU has the units, that is enough."""
    quant, capability = case.quant, case.capability or 0
    if quant is None:
        return
    names = (quant.method, quant.scheme.partition("-")[0])
    listed = any(case.known.get(p, n) for p in ("quantization", "weight_format") for n in names)
    if listed and capability >= _UNITS.get(quant.scheme, 80):
        return
    yield Finding(
        verdict=Verdict.UNKNOWN,
        says=f"the gate of {label} in {case.engine} {case.version or ''} is not known",
        probe=case.probe("load_and_kernel"),
        remedy=_other_checkpoint(case, case.capability or 0),
    )


def _other_checkpoint(case: Case, capability: int) -> str:
    """The cheapest change: a checkpoint whose kernels this GPU has, else GGUF on llama.cpp."""
    quant = case.quant
    options = []
    if quant and quant.method == "compressed-tensors" and 75 <= capability < 80:
        options.append("a true AutoAWQ checkpoint (quant_method awq)")
    if quant and quant.scheme in _FP8 and capability >= 75 and case.engine != "tensorrt-llm":
        options.append("the compressed-tensors FP8 build of the model or a newer version")
    if quant and quant.scheme in {"nvfp4", "fp8", "fp8-block"} and capability >= 80:
        options.append("an AWQ or GPTQ checkpoint")
    options.append("a GGUF on llama.cpp")
    return "; or ".join(options)


@constraint(
    "emulated_precision",
    asks="Does the GPU compute in this precision, or only store it?",
    needs="GPU, checkpoint's precision, fact min_capability X:native",
    verdicts=("degraded",),
    remedy="keep it for the memory it saves, do not count on its FLOPs; or another format",
)
def emulated_precision(case: Case) -> Finding | None:
    family, capability = kind(case), case.capability
    if family not in {"fp8", "nvfp4"} or capability is None or case.quant is None:
        return None
    native = case.known.get("min_capability", f"{family}:native")
    if native is None or not isinstance(native.value, int) or capability >= native.value:
        return None
    prefer = "an FP8 checkpoint" if family == "nvfp4" and capability >= 89 else "AWQ or GPTQ-Int8"
    return Finding(
        verdict=Verdict.DEGRADED,
        says=f"{family} is native from compute {native.value / 10:.1f}; on {capability / 10:.1f} "
        f"{case.engine} keeps the weights in {family} and computes in 16 bits (weight-only): "
        "memory is saved, prefill gains nothing",
        numbers={"native_from": native.value, "capability": capability},
        facts=[native],
        remedy=f"do not credit {family} FLOPs; prefer {prefer} unless weight memory binds",
        probe=case.probe("load_and_kernel"),
    )


@constraint(
    "quant_unsupported",
    asks="Is the checkpoint's quantisation method among the engine's methods?",
    needs="quant_method, fact quantization",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another checkpoint, a plugin, or another engine",
)
def quant_unsupported(case: Case) -> Finding | None:
    quant = case.quant
    if quant is None or quant.method in {"gguf", "mlx", "mlc"} or case.form == "tensorrt-engine":
        return None
    fact = next(
        (f for n in _aliases(quant.method) if (f := case.known.get("quantization", n))), None
    )
    if fact is None:
        return _unlisted_method(case)
    says = f"quant_method {quant.method} in {case.engine} {case.version or ''}: {fact.value}"
    if fact.value == "plugin":
        plugin, last = fact.detail.get("plugin"), fact.detail.get("last_version")
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=says,
            facts=[fact],
            remedy=f"install {plugin}, or {case.engine} {last}; or another checkpoint",
        )
    if fact.value in ("removed", "none", "absent"):
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=says,
            facts=[fact],
            remedy="another checkpoint of the model, or another engine",
        )
    return Finding(verdict=Verdict.FEASIBLE, says=says, facts=[fact])


def _aliases(method: str) -> list[str]:
    more = {
        "awq": ["awq_marlin", "auto_awq"],
        "gptq": ["gptq_marlin", "auto_gptq"],
        "modelopt_fp4": ["nvfp4", "modelopt"],
        "mxfp4": ["gpt_oss_mxfp4"],
        "fbgemm_fp8": ["fp8"],
        "auto-round": ["auto_round", "inc"],
    }
    return [method, *more.get(method, [])]


def _unlisted_method(case: Case) -> Finding | None:
    quant = case.quant
    assert quant is not None
    if any(case.known.get("min_capability", s) for s in method_subjects(case)):
        return None
    known = case.known.complete("quantization") and case.known.exact
    return Finding(
        verdict=Verdict.INFEASIBLE if known else Verdict.UNKNOWN,
        says=f"quant_method {quant.method} is "
        + ("not among the methods of" if known else "not verified for")
        + f" {case.engine} {case.version or ''}",
        remedy="another checkpoint of the model, or another engine",
        probe=None if known else case.probe("boot_log"),
    )


@constraint(
    "dtype_unsupported",
    asks="Does the GPU have the checkpoint's 16-bit type?",
    needs="GPU, torch_dtype, --dtype, fact min_capability bfloat16",
    verdicts=("conditional", "degraded"),
    remedy="--dtype half and a quality check",
)
def dtype_unsupported(case: Case) -> Finding | None:
    capability, model = case.capability, case.loaded
    if capability is None or capability >= 80 or model is None or model.format == "gguf":
        return None
    if case.form == "tensorrt-engine":
        return None
    wanted = case.set.dtype or case.spec.model.precision or model.dtype or ""
    if wanted.lower() in {"half", "float16", "fp16"}:
        return _half(case, model.model_type or "")
    if wanted.lower() in {"float32", "fp32", "float"}:
        return None
    if wanted.lower() not in {"bf16", "bfloat16", "auto"} and model.dtype != "bfloat16":
        return None
    fact = case.known.get("min_capability", "bfloat16")
    automatic = case.engine in {"sglang", "lmdeploy", "transformers", "mlc-llm"}
    return Finding(
        verdict=Verdict.DEGRADED if automatic else Verdict.CONDITIONAL,
        says=f"bfloat16 needs compute 8.0, the GPU is {capability / 10:.1f}"
        + (": the engine takes float16 instead" if automatic else ": start-up refuses it"),
        numbers={"min_capability": 80, "capability": capability},
        facts=[fact] if fact else [],
        remedy="--dtype half and a quality check: models trained in bfloat16 may overflow",
        probe=case.probe("task"),
    )


def _half(case: Case, family: str) -> Finding | None:
    """Families that vLLM refuses in float16 for numerical instability."""
    fact = case.known.get("excludes", f"float16+{family}")
    if fact is None:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact],
        says=f"{family} is refused in float16: {fact.condition}",
        remedy="--dtype float32 (twice the memory), or a GPU with bfloat16",
    )


@constraint(
    "kv_dtype_unsupported",
    asks="Can the cache be kept in the requested type on this GPU?",
    needs="requires.kv_cache_dtype or the engine's flag, fact kv_cache_dtype",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="auto, or a type on the engine's list",
)
def kv_dtype_unsupported(case: Case) -> Finding | None:
    asked = case.spec.requires.kv_cache_dtype or case.set.kv_dtype
    if asked is None or asked.lower() in {
        "auto",
        "bf16",
        "bfloat16",
        "f16",
        "fp16",
        "float16",
        "0",
    }:
        return None
    fact = case.known.get("kv_cache_dtype", asked)
    if (low := _fp8_cache_below(case, asked)) is not None:
        return low
    if fact is not None and fact.value not in ("none", "no", False):
        return Finding(
            verdict=Verdict.FEASIBLE,
            facts=[fact],
            says=f"{asked} is among {case.engine}'s cache types",
        )
    listed = case.known.complete("kv_cache_dtype")
    spelled = [f for f in case.known.all("kv_cache_dtype") if f.subject.startswith(asked[:3])]
    if spelled:
        return Finding(
            verdict=Verdict.FEASIBLE,
            facts=spelled[:1],
            says=f"{asked}: {case.engine} spells it {spelled[0].subject}",
        )
    if listed and case.known.exact:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            facts=case.known.all("kv_cache_dtype")[:1],
            says=f"{asked} is not among {case.engine} {case.version}'s cache types",
            remedy="kv_cache_dtype auto, or a type on the list",
        )
    return Finding(
        verdict=Verdict.UNKNOWN,
        probe=case.probe("boot_log"),
        says=f"whether {case.engine} keeps its cache in {asked} is not verified",
    )


def _fp8_cache_below(case: Case, asked: str) -> Finding | None:
    """Being on the list is not having a kernel: no FP8 units below compute 8.9."""
    capability = case.capability
    if capability is None or capability >= 89 or not asked.lower().startswith("fp8"):
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers={"capability": capability, "native_from": 89},
        says=f"a cache in {asked} on compute {capability / 10:.1f}: accepted by the flag, but "
        "whether an attention backend has a kernel for it without FP8 units must be seen",
        remedy="kv_cache_dtype auto, int8 where the engine has it, or a GPU from compute 8.9",
        probe=case.probe("load_and_kernel"),
    )


@constraint(
    "quant_platform_unverified",
    asks="Is the quantisation method on the allow-list of this platform?",
    needs="quant_method, vendor other than NVIDIA",
    verdicts=("unknown",),
    remedy="a 16-bit checkpoint, a GGUF on llama.cpp, or a probe",
)
def quant_platform_unverified(case: Case) -> Finding | None:
    quant, vendor = case.quant, case.target.vendor
    if quant is None or quant.method in {"gguf", "mlx", "mlc"} or vendor in {"nvidia", "unknown"}:
        return None
    if case.engine in {"llama.cpp", "ollama"} or quant.scheme in _PLATFORM_OK.get(vendor, set()):
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{quant.method} {quant.scheme} on {vendor}: the method is registered, its kernels "
        "here are not verified",
        remedy="a 16-bit checkpoint, or a GGUF on llama.cpp",
        probe=case.probe("load_and_kernel"),
    )


_PLATFORM_OK = {
    "amd": {"w4a16", "w8a16", "w8a8-int8", "fp8", "fp8-block", "quark", "mxfp4", "nvfp4"},
    "cpu": {"w4a16", "w8a8-int8"},
}
"""What each platform class lists (vllm/platforms/rocm.py:668, cpu.py); what of it may fall back
silently is the business of ``silent_fallback``."""
