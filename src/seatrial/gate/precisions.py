"""Constraints on numeric precision: what is stored, what is computed in, where it is listed.

Loading is not computing: weight-only FP8 saves memory and no time in prefill. A flag that is
accepted is not a kernel.
"""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact, constraint
from seatrial.gate.hosts import architecture, unlisted_type
from seatrial.gate.kernels import flag_lifts, kind, method_subjects, on_other_backend
from seatrial.gate.method_flag import flag_against_checkpoint
from seatrial.gate.tensor_types import unread_type
from seatrial.gate.tiles import native_from, off_the_tiles
from seatrial.model import Quantization


@constraint(
    "emulated_precision",
    asks="Does the GPU compute in this precision, or only store it?",
    needs="GPU, checkpoint's precision, fact min_capability X:native",
    verdicts=("degraded", "unknown"),
    remedy="keep it for the memory it saves, do not count on its FLOPs; or another format",
)
def emulated_precision(case: Case) -> Finding | None:
    if (emulated := _emulated_everywhere_but(case)) is not None:
        return emulated
    family, capability = kind(case), case.capability
    if family not in {"fp8", "nvfp4"} or capability is None or case.quant is None:
        return None
    native = native_from(case, family)
    if native is None or not isinstance(native.value, int) or capability >= native.value:
        return None
    odd, tile = off_the_tiles(case, family)
    if odd is not None and tile is not None:
        return None  # no kernel takes it: kernel_missing_for_arch says so
    if odd is not None:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{odd}, and what the engine then does must be seen",
            numbers={"native_from": native.value, "capability": capability},
            facts=[native],
            remedy="another TP, or an AWQ or GPTQ checkpoint",
            probe=case.probe("load_and_kernel"),
        )
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


def _emulated_everywhere_but(case: Case) -> Finding | None:
    """A scheme that the engine computes in 16 bits on all chips but those that a fact names."""
    quant, gpu = case.quant, case.target.gpu
    fact = case.known.excludes(f"{quant.method}:{quant.scheme}+emulated") if quant else None
    if fact is None or gpu is None or gpu.gfx in fact.detail.get("native", []):
        return None
    what = f"{fact.subject.partition('+')[0]} on {gpu.gfx or gpu.name}"
    return by_fact(case, fact, what, verdict=Verdict.DEGRADED)


@constraint(
    "quant_unsupported",
    asks="Is the checkpoint's quantisation method among the engine's methods?",
    needs="quant_method, fact quantization (ROCm's own list there), CPU flags",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another checkpoint, a plugin, or another engine",
)
def quant_unsupported(case: Case) -> Finding | None:
    quant = case.quant
    if (wrong := flag_against_checkpoint(case)) is not None:
        return wrong
    if quant is not None and quant.method == "gguf" and case.engine == "vllm":
        return _off_the_list(case)
    if (unread := unread_type(case)) is not None:
        return unread
    if quant is None or quant.method in {"gguf", "mlx", "mlc"} or case.form == "tensorrt-engine":
        return None
    fact = _listed(case, quant.method)
    if (other := _no_expert_method(case) or _refused_form(case)) is not None:
        return other
    if fact is None:
        return _unlisted_method(case)
    if (other := _not_on_platform(case)) is not None:
        return other
    if (unlisted := _class_without_it(case)) is not None:
        return unlisted
    says = f"quant_method {quant.method} in {case.engine} {case.version or ''}: {fact.value}"
    if fact.value == "plugin":
        plugin, last = fact.detail.get("plugin"), fact.detail.get("last_version")
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=says,
            facts=[fact],
            remedy=f"install {plugin}, or {case.engine} {last}; or another checkpoint",
        )
    if fact.value in _GONE:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=says,
            facts=[fact],
            remedy="another checkpoint of the model, or another engine",
        )
    return Finding(verdict=Verdict.FEASIBLE, says=says, facts=[fact])


def _class_without_it(case: Case) -> Finding | None:
    """A method that each model class had to be made ready for."""
    method = case.quant.method if case.quant else None
    fact = case.known.get("requires", f"classes:{method}")
    if fact is None or not isinstance(fact.value, list) or case.architecture in fact.value:
        return None
    what = f"{method} with {case.architecture}"
    return by_fact(case, fact, what, remedy=f"{case.engine} {fact.until} or later")


_GONE = ("removed", "none", "absent")


def _listed(case: Case, method: str) -> Fact | None:
    """The method's entry in the engine's table. Where only the plain name has left the table
    the kernel that took it over decides: SGLang reads GPTQ as gptq_marlin."""
    found = [f for n in _aliases(method) if (f := case.known.get("quantization", n))]
    first = found[0] if found else None
    if first is None or first.value != "absent":
        return first
    return next((f for f in found if f.value not in _GONE), first)


def _no_expert_method(case: Case) -> Finding | None:
    """A method may quantise linear layers and have no class for routed experts yet."""
    quant = case.quant
    if quant is None or not case.moe:
        return None
    fact = case.known.excludes(f"{quant.method}:{quant.scheme}_moe")
    if fact is None or fact.value != "refuses" or case.architecture in fact.detail.get("but", []):
        return None
    what = f"{quant.method} {quant.scheme} has no method for routed experts"
    return by_fact(case, fact, what, remedy=f"{case.engine} {fact.until} or later")


def _refused_form(case: Case) -> Finding | None:
    """A listed method may read only some of its forms: a scheme, a group size, one order."""
    quant = case.quant
    if quant is None:
        return None
    forms = [quant.scheme, *(["act-order"] if quant.act_order else [])]
    forms += ["asymmetric"] if quant.method == "gptq" and not quant.symmetric else []
    fact = next((f for n in forms if (f := case.known.excludes(f"{quant.method}:{n}"))), None)
    if fact is not None and fact.value == "refuses":
        why = f"{quant.method} {fact.subject.partition(':')[2]}: {fact.condition}"
    else:
        fact = case.known.get("requires", f"group_size:{quant.method}")
        if fact is None or not isinstance(fact.value, list) or quant.group_size in fact.value:
            return None
        if quant.group_size is None:  # not stated, or one scale a channel: not this rule's word
            return None
        sizes = " or ".join(map(str, fact.value))
        why = f"{quant.method} with groups of {quant.group_size}: {case.engine} reads {sizes}"
    other = None if fact.detail.get("everywhere") else on_other_backend(case)
    mends = "backend: pytorch" if other else fact.detail.get("install")
    return Finding(
        verdict=Verdict.CONDITIONAL if mends else Verdict.INFEASIBLE,
        says=why,
        facts=[fact, *([other] if other else [])],
        remedy=str(mends or fact.detail.get("remedy") or "another checkpoint, or another engine"),
    )


def _other_backend(case: Case) -> Finding | None:
    """LMDeploy: a method that TurboMind lacks and the PyTorch engine has. Where the class is not
    TurboMind's either, the PyTorch engine takes over by itself."""
    if case.quant is None or (fact := on_other_backend(case)) is None:
        return None
    name = case.architecture or ""
    takes_over = (
        case.known.get("architecture", name) is None
        and case.known.on_layer("pytorch").get("architecture", name) is not None
    )
    return Finding(
        verdict=Verdict.FEASIBLE if takes_over else Verdict.CONDITIONAL,
        says=f"quant_method {case.quant.method} is not among TurboMind's, but the PyTorch engine's",
        facts=[fact],
        remedy="backend: pytorch",
    )


def _not_on_platform(case: Case) -> Finding | None:
    """ROCm has a list of methods of its own; CPU kernels may need more than the build does."""
    quant = case.quant
    assert quant is not None
    if case.target.on_cpu and (lacking := _cpu_kernel(case)) is not None:
        return lacking
    own_list = _of_platform(case, quant)
    if own_list and all(f.value in _GONE for f in own_list):
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{quant.method} {quant.scheme} on {case.target.gpu_name or 'the processor'} in "
            f"{case.engine} {case.version or ''}: {own_list[0].condition or own_list[0].value}",
            facts=own_list[:1],
            remedy="a checkpoint in another method that the platform lists, or a 16-bit one",
        )
    if case.target.vendor != "amd" or case.known.facts is None or quant.scheme == "nvfp4":
        return None
    gfx = case.target.gpu.gfx if case.target.gpu else None
    if (own := _own_of_rocm(case)) is not None:
        return own
    refused = case.known.excludes(f"{quant.scheme.partition('-')[0]}+{gfx}")
    if refused is None and quant.scheme == "fp8" and not case.moe:  # one scale a tensor or channel
        refused = case.known.excludes(f"fp8-tensor+{gfx}")
    if refused is not None:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{quant.scheme} on {gfx}: {refused.condition}",
            facts=[refused],
            remedy=str(refused.detail.get("remedy") or "a 16-bit checkpoint"),
        )
    if (none := _no_fp8_experts(case, gfx)) is not None:
        return none
    return _off_the_list(case)


def _off_the_list(case: Case) -> Finding | None:
    """A method that the engine's own list for ROCm does not name. What SGLang lists for ROCm
    comes on top of its common table."""
    quant = case.quant
    if quant is None or case.target.vendor != "amd" or case.known.facts is None:
        return None
    if case.engine == "sglang":
        return None
    all_of = case.known.facts.all("quantization", layer="rocm")
    listed = {f.subject.replace("_", "-"): f for f in all_of if f.layer == "rocm"}
    names = {n.replace("_", "-") for n in (quant.method, *_aliases(quant.method)[1:])}
    if not listed or names & set(listed) - ({"fp8"} if quant.method != "fp8" else set()):
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"quant_method {quant.method} is not on {case.engine} {case.version or ''}'s list for "
        f"ROCm: {', '.join(sorted(listed))}",
        facts=list(listed.values())[:1],
        remedy="a checkpoint in one of these methods, a 16-bit one, or a later version",
    )


def _no_fp8_experts(case: Case, gfx: str | None) -> Finding | None:
    """Routed experts in FP8 need a chip that the platform counts as one with FP8."""
    chips = case.known.get("requires", "amd_fp8_experts")
    if chips is None or not case.moe or gfx is None or kind(case) != "fp8":
        return None
    if any(gfx.startswith(c) for c in chips.value):
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"FP8 experts on {gfx} in {case.engine} {case.version or ''}: {chips.condition}",
        facts=[chips],
        remedy="a 16-bit or 4-bit integer checkpoint, or a GGUF on llama.cpp",
    )


def _own_of_rocm(case: Case) -> Finding | None:
    """A method that has no kernel on AMD at this version, as such or for routed experts."""
    assert case.quant is not None
    subjects = [f"{case.quant.method}+rocm"]
    if case.moe:
        subjects.append(f"{case.quant.method}:{case.quant.scheme}_moe+rocm")
    fact = next((f for s in subjects if (f := case.known.excludes(s))), None)
    if fact is None or fact.value == "ended":
        return None
    lifted, flag = flag_lifts(case, fact)
    if lifted:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL if flag else Verdict.INFEASIBLE,
        says=f"{case.quant.method} {case.quant.scheme} on AMD in {case.engine} "
        f"{case.version or ''}: {fact.condition}",
        facts=[fact],
        remedy=flag or str(fact.detail.get("remedy") or "a 16-bit or FP8 checkpoint"),
    )


def _cpu_kernel(case: Case) -> Finding | None:
    quant, flags = case.quant, {f.lower() for f in case.target.flags}
    if quant is None or not flags or architecture(case) != "x86_64":
        return None
    fact = case.known.get("requires", f"cpu_flags:{quant.scheme}")
    lacking = [f for f in fact.value if f not in flags] if fact else []
    if fact is None or not lacking:
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"{quant.method} {quant.scheme} on a processor without {', '.join(lacking)}: "
        f"{fact.condition}",
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "llama.cpp"),
    )


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
    if (other := _other_backend(case)) is not None:
        return other
    names = [*_aliases(quant.method), *([case.set.quantization] if case.set.quantization else [])]
    why = case.known.lacks("quantization", names)
    own = [s for s in method_subjects(case) if s.startswith(quant.method) or s in names]
    if why is None and any(case.known.get("min_capability", s) for s in own):
        return None
    if why is not None:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"quant_method {quant.method} is not among the methods of {case.engine} "
            f"{case.version}: {why}",
            remedy="another checkpoint of the model, a later version, or another engine",
        )
    if case.engine == "mlc-llm" and quant.method == "awq":
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says="MLC-LLM reads AWQ weights when it converts them",
            remedy="mlc_llm convert_weight --source-format awq, then compile",
        )
    known = case.known.complete("quantization") and case.known.exact
    known = known and case.engine != "mlc-llm"  # its list is of targets, not of sources
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
    needs="GPU or processor, torch_dtype, model.precision, --dtype, fact min_capability bfloat16",
    verdicts=("conditional",),
    remedy="--dtype half and a quality check",
)
def dtype_unsupported(case: Case) -> Finding | None:
    capability, model = case.capability, case.loaded
    if capability is None or model is None or model.format == "gguf":
        return unlisted_type(case)
    if case.form == "tensorrt-engine":
        return None
    wanted = case.asked_type or model.dtype or ""
    if capability >= 80:
        stated = (case.set.dtype or "").lower() in {"half", "float16", "fp16"}
        return _half(case, model.model_type or "") if stated else _half_only(case, wanted)
    if wanted.lower() in {"half", "float16", "fp16"}:
        return _half(case, model.model_type or "")
    if wanted.lower() in {"float32", "fp32", "float"}:
        return None
    if wanted.lower() not in {"bf16", "bfloat16", "auto"} and model.dtype != "bfloat16":
        return None
    fact = case.known.get("min_capability", "bfloat16")
    automatic = case.engine in {"sglang", "lmdeploy", "transformers", "mlc-llm"}
    return Finding(
        verdict=Verdict.FEASIBLE if automatic else Verdict.CONDITIONAL,
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
        remedy="--dtype bfloat16, or float32 (twice the memory) where the GPU has no bfloat16",
    )


def _half_only(case: Case, wanted: str) -> Finding | None:
    """The older kernels of AWQ and GPTQ compute in float16 and refuse a bfloat16 checkpoint;
    Marlin takes both, unless the flag asks for the older kernel by name."""
    quant, flag = case.quant, (case.set.quantization or "").lower()
    kept = case.loaded.dtype if case.loaded and wanted.lower() == "auto" else wanted
    if quant is None or (kept or "").lower() not in {"bf16", "bfloat16"}:
        return None
    fact = case.known.excludes(f"bfloat16+{quant.method}")
    if fact is None and flag == quant.method:
        fact = case.known.excludes(f"bfloat16+{flag}_by_name")
    if fact is None or fact.value != "refuses":
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact],
        says=f"bfloat16 with {quant.method}: {fact.condition}",
        remedy="--dtype half",
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
    if quant is None or vendor in {"nvidia", "unknown"} or case.engine in _ALL_FORMATS:
        return None
    if case.known.value("platform", vendor) != "native":
        return None  # a plugin is an engine of its own, with its own list
    scheme = "gguf" if quant.method == "gguf" else quant.scheme
    if quant.method in {"mlx", "mlc"} or _own_list(case, quant) or case.form == "tensorrt-engine":
        return None
    listed = scheme in _PLATFORM_OK.get((case.engine, vendor), _PLATFORM_OK.get(vendor, set()))
    if listed and not _experts_unshown(case, quant):
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{quant.method} {quant.scheme} on {vendor}: the method is registered, its kernels "
        "here are not verified",
        remedy="a 16-bit checkpoint, or a GGUF on llama.cpp",
        probe=case.probe("load_and_kernel"),
    )


def _own_list(case: Case, quant: Quantization) -> bool:
    """Whether the platform has a list of its own that names the method at this version."""
    return any(f.value == "native" for f in _of_platform(case, quant))


def _of_platform(case: Case, quant: Quantization) -> list[Fact]:
    """What a platform other than CUDA and ROCm says of the checkpoint's method or scheme."""
    layer = {"cpu": "cpu", "intel": "xpu", "apple": "mps"}.get(case.target.vendor)
    if layer is None or case.known.facts is None:
        return []
    names = [*_aliases(quant.method), quant.scheme, quant.scheme.partition("-")[0]]
    names += [case.set.quantization] if case.set.quantization else []
    found = (f for n in names for f in case.known.facts.get_all("quantization", n, layer=layer))
    return [f for f in found if f.layer == layer]


def _experts_unshown(case: Case, quant: Quantization) -> bool:
    """Weight-only routed experts on AMD: Marlin is NVIDIA only, and that another kernel takes
    them has to be known for the version (the exclusion's end)."""
    if case.target.vendor != "amd" or not case.moe or quant.scheme not in {"w4a16", "w8a16"}:
        return False
    fact = case.known.excludes(f"{quant.method}:{quant.scheme}_moe+rocm")
    return fact is None


_ALL_FORMATS = ("llama.cpp", "ollama", "mlc-llm")
_ROCM = {"w4a16", "w8a16", "w8a8-int8", "fp8", "fp8-block", "quark", "mxfp4", "nvfp4"}
_PLATFORM_OK: dict[str | tuple[str, str], set[str]] = {
    ("sglang", "cpu"): set(),
    ("vllm", "amd"): {*_ROCM, "bnb-nf4", "gguf"},  # where its list for ROCm has them
    "amd": _ROCM,
    "cpu": {"w4a16", "w8a8-int8"},
}
"""What each platform class lists (vllm/platforms/rocm.py:668, cpu.py); what of it may fall back
silently is the business of ``silent_fallback``."""
