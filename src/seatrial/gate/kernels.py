"""Constraints on format x quantisation x GPU: every layer must agree.

Compiled targets, the engine's own floor, the method's gate, the kernel table: a single "minimum
compute capability" is not a capability. Loading, running on an optimised kernel and doing the
task are three findings; what is emulated says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.attention import without_backend
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact, constraint
from seatrial.gate.tiles import off_integer_tiles, off_the_tiles

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
        older = ["compressed-tensors:CompressedTensorsW4A16Fp4"] if quant.scheme == "nvfp4" else []
        return [s for s in (_CT.get(quant.scheme), *older) if s]  # its weight-only class
    if quant.method == "quark":  # its schemes have floors of their own, and no weight-only way out
        return [f"quark:{quant.scheme}", "quark"]
    names = [quant.method]
    if case.engine == "tensorrt-llm" and quant.method == "modelopt" and quant.scheme == "w4a16":
        names.append("awq")  # ModelOpt's W4A16_AWQ is what its documents call AWQ
    if quant.method == "auto-round":
        names.append("inc")  # vLLM's name of the class that reads it
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
    if quant.method == "quark":
        return None  # MXFP4 of linear layers, not of experts: emulated where it is not native
    return quant.scheme if quant.scheme in {"nvfp4", "mxfp4"} else None


def applies(mark: int, capability: int) -> bool:
    """Whether ``smNN`` in an exclusion means this GPU: up to Hopper a floor that is missing (all
    of that generation and older, or up to that very capability where it does not end in 0), on
    Blackwell one family, or one chip if it ends in 1."""
    if mark < 100:
        return capability <= mark if mark % 10 else capability // 10 <= mark // 10
    return capability == mark if mark % 10 else capability // 10 == mark // 10


def marked(case: Case, stem: str) -> Iterator[tuple[Fact, bool]]:
    """``excludes`` facts ``STEM+smNN`` that mean this GPU, and whether they hold for this
    version (else they held for an earlier one and nobody has shown that they ended)."""
    capability = case.capability
    if capability is None:
        return
    for fact, holds in case.known.history("excludes"):
        head, plus, mark = fact.subject.rpartition("+sm")
        if fact.value == "ended":  # a later row: somebody showed that it works again
            continue
        if plus and head == stem and mark.isdigit() and applies(int(mark), capability):
            yield fact, holds


@constraint(
    "kernel_missing_for_arch",
    asks="Does the binary hold code, and the kernel table a kernel, for this GPU?",
    needs="GPU, attention backend, facts min_capability engine, cuda_targets, attention_backend, "
    "excludes X+smNN",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another GPU generation, an older or newer build, another engine, another format",
)
def kernel_missing_for_arch(case: Case) -> Iterator[Finding]:
    capability = case.capability
    if capability is None:
        if (narrow := _cut_experts(case) or _no_gated_delta(case)) is not None:
            yield narrow
        return
    for stem in _stems(case):
        for fact, holds in marked(case, stem):
            yield _excluded(case, fact, holds, capability)
    if (own := _family_specific(case, capability)) is not None:
        yield own
    yield from without_backend(case)
    family = kind(case)
    odd, tile = off_the_tiles(case, family) if family in {"fp8", "nvfp4"} else (None, None)
    if odd is not None and tile is not None:
        yield Finding(
            verdict=Verdict.INFEASIBLE,
            says=odd,
            numbers={"capability": capability, "tile": tile.value},
            facts=[tile],
            remedy="another TP or expert parallelism, an AWQ or GPTQ checkpoint"
            + (f", or {case.engine} {tile.until}, which pads them" if tile.until else ""),
        )
    if case.tp == 1 and (uneven := no_integer_tiles(case)) is not None:
        yield uneven
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
    if (pinned := _by_pytorch(case, capability)) is not None:
        yield pinned
        return
    if not any(h and "build" in f.detail for f, h in marked(case, "engine")):
        yield from _targets(case, capability)  # else the other build's targets count


def _cut_experts(case: Case) -> Finding | None:
    """AMD: AITER's kernels of 16-bit experts take whole tiles; a share of another width has to
    be seen."""
    fact = case.known.get("requires", "tile:experts+rocm")
    shape = case.model.shape if case.model else None
    if fact is None or shape is None or case.target.vendor != "amd" or case.quant is not None:
        return None
    width = shape.expert_intermediate
    if not case.moe or not width or case.set.ep or case.tp < 2 or width % case.tp:
        return None
    if (share := width // case.tp) % fact.value == 0:
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers={"width": width, "tp": case.tp, "per_rank": share, "tile": fact.value},
        says=f"experts {width} wide / TP {case.tp} = {share}, no multiple of {fact.value}: "
        f"{fact.condition}",
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "expert parallelism"),
        probe=case.probe("load_and_kernel"),
    )


def _no_gated_delta(case: Case) -> Finding | None:
    """Classes whose recurrent layers have a path of their own for each vendor."""
    fact = case.known.excludes(f"gated-delta+{case.target.vendor}")
    if fact is None or case.architecture not in fact.detail.get("classes", []):
        return None
    what = f"{case.architecture} on {case.target.gpu_name}"
    return by_fact(case, fact, what, remedy="another engine")


_TORCH = re.compile(r"(?:==|~=|<|<=)\s*(\d+)\.(\d+)(\.0)?")


def _by_pytorch(case: Case, capability: int) -> Finding | None:
    """PyTorch before 2.7 has no build with code for Blackwell (release notes of 2.7: CUDA 12.8),
    and an engine that pins such a version has none either."""
    if capability < 100 or case.engine == "tensorrt-llm":  # its container has a build of its own
        return None
    fact = case.known.get("requires", "torch")
    later = case.known.later.get("requires", "torch") if case.known.later else None
    if fact is None:
        return None
    own = case.known.exact or fact.state == "documented"  # read in this version's own metadata
    if not own and not (later is not None and _old_torch(later)):
        return None
    if not _old_torch(fact) or any(h and "build" in f.detail for f, h in marked(case, "engine")):
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"{case.engine} {case.version or ''} pins PyTorch {fact.value}: no build before 2.7 "
        f"holds code for compute {capability / 10:.1f}",
        numbers={"capability": capability},
        facts=[fact],
        remedy="a later version of the engine, built with CUDA 12.8 or newer",
    )


def _old_torch(fact: Fact) -> bool:
    bounds = [
        (int(m[1]), int(m[2]), m[0].lstrip().startswith("<") and not m[0].startswith("<="))
        for m in _TORCH.finditer(str(fact.value))
    ]
    return any(
        (major, minor) < (2, 7) or (below and (major, minor) == (2, 7))
        for major, minor, below in bounds
    )


def _family_specific(case: Case, capability: int) -> Finding | None:
    """FP4 instructions are compiled for one chip (sm_100a, sm_120a): that code does not run on
    its relatives, and the wheels list 10.0 and 12.0 only."""
    family, engine = kind(case), case.engine
    fp4 = family == "nvfp4" and capability in (103, 110, 121) and engine in {"vllm", "sglang"}
    experts = engine == "sglang" and (
        (family == "nvfp4" and case.moe and capability // 10 == 12)
        or (family == "mxfp4" and capability == 121)
    )  # what vLLM's exclusions say of its own kernels nobody has shown for these
    shown = case.known.excludes(f"{family}_{'moe' if case.moe else 'dense'}+sm{capability}")
    if (not fp4 and not experts) or shown is not None:  # ended, or said by the exclusion itself
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers={"capability": capability},
        says=f"FP4 kernels are built per chip: whether {case.engine} {case.version or ''} has them "
        f"for compute {capability / 10:.1f} is not shown",
        remedy="a build whose target list names this chip, or AWQ or FP8",
        probe=case.probe("load_and_kernel"),
    )


def _stems(case: Case) -> list[str]:
    family, names = kind(case), ["engine"]
    if case.spec.requires.lora or case.set.lora:
        names.append("lora")
    if case.architecture:
        names.append(case.architecture)
    if family:
        names += [f"{family}_moe"] if case.moe else [f"{family}_dense"]
        if case.moe and case.quant is not None and case.quant.scheme != family:
            names.append(f"{case.quant.scheme}_moe")
        names.append(family)
    if case.quant is not None:
        own = (*method_subjects(case)[:2], case.quant.scheme)
        names += [n for n in (case.quant.method, *own) if n not in names]
    return names


def flag_lifts(case: Case, fact: Fact) -> tuple[bool, str | None]:
    """(whether the candidate has set the flag that an exclusion ends with, the flag in words):
    ``detail.flag`` names it with the value that lifts it."""
    wanted = fact.detail.get("flag")
    if not isinstance(wanted, dict) or not wanted:
        return False, None
    set_so = all(str(case.args.get(k, "")).lower() == str(v).lower() for k, v in wanted.items())
    words = " ".join(f"--{k.replace('_', '-')} {v}" for k, v in wanted.items())
    return set_so, words


def _excluded(case: Case, fact: Fact, holds: bool, capability: int) -> Finding:
    lifted, flag = flag_lifts(case, fact)
    set_so, variable = case.variable_lifts(fact)
    if holds and (flag or variable):
        ways = " or ".join(w for w in (flag, variable) if w)
        return Finding(
            verdict=Verdict.FEASIBLE if lifted or set_so else Verdict.CONDITIONAL,
            says=f"{fact.subject}: {fact.condition}; {ways} avoids it",
            numbers={"capability": capability},
            facts=[fact],
            remedy=ways,
        )
    if holds and (build := fact.detail.get("build")):
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=f"{fact.subject}: {fact.condition}; another build has it",
            numbers={"capability": capability},
            facts=[fact],
            remedy=str(build),
        )
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
    facts = [
        f
        for f in case.known.all("cuda_targets")
        if f.subject.rpartition("/")[2] in _MAIN and _codes(f)[0]
    ]
    judged = [_one_target(case, fact, capability) for fact in facts]
    best = min(judged, key=lambda f: _WORSE.index(f.verdict), default=None)
    if best is not None:
        yield best


_MAIN = ("_C_stable_libtorch", "_C", "common_ops", "_turbomind", "cuda-12", "cuda-13")
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


def no_integer_tiles(case: Case) -> Finding | None:
    """A width per rank that the weight-only kernel of an integer checkpoint does not take."""
    odd, fact = off_integer_tiles(case)
    if odd is None or fact is None:
        return None
    _, flag = flag_lifts(case, fact)
    kept = (case.set.dtype or (case.loaded.dtype if case.loaded else None) or "").lower()
    if flag and kept in {"half", "float16", "fp16"}:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL if flag else Verdict.INFEASIBLE,
        says=odd,
        numbers={"tile": fact.value, "tp": case.tp},
        facts=[fact],
        remedy=(f"{flag}, or " if flag else "") + f"another TP, or {case.engine} 0.24.0 or later",
    )


@constraint(
    "compute_capability",
    asks="Does the engine, and the quantisation method, admit this compute capability?",
    needs="GPU, quant_method of config.json, environment, fact min_capability",
    verdicts=("infeasible", "conditional", "degraded", "unknown"),
    remedy="another checkpoint of the model (AWQ, GPTQ, GGUF), a newer GPU, another engine",
)
def compute_capability(case: Case) -> Iterator[Finding]:
    capability = case.capability
    if capability is None:
        return
    floor = engine_floor(case, binary=False)
    if floor is not None and capability < floor.value:
        alone = bool(floor.detail.get("falls_back"))  # it leaves such a GPU alone
        yield Finding(
            verdict=Verdict.DEGRADED if alone else Verdict.INFEASIBLE,
            says=f"{case.engine} {case.version or ''} needs compute {floor.value / 10:.1f}, "
            f"the GPU is {capability / 10:.1f}" + (": the processor takes over" if alone else ""),
            numbers={"min_capability": floor.value, "capability": capability},
            facts=[floor],
            remedy=str(floor.detail.get("remedy") or _older(case)),
        )
    yield from _asked_by_name(case, capability)
    yield from _method_gate(case, capability)


def _asked_by_name(case: Case, capability: int) -> Iterator[Finding]:
    """Environment variables that ask for a part with a floor of its own."""
    for name, value in case.candidate.env.items():
        fact = case.known.get("min_capability", f"env:{name}")
        on = str(value).strip().lower() not in {"", "0", "false", "no"}
        if fact is None or not on or not isinstance(fact.value, int) or capability >= fact.value:
            continue
        yield Finding(
            verdict=Verdict.CONDITIONAL,
            says=f"{name}={value} needs compute {fact.value / 10:.1f}, the GPU is "
            f"{capability / 10:.1f}: {fact.condition or 'refused'}",
            numbers={"min_capability": fact.value, "capability": capability},
            facts=[fact],
            remedy=str(fact.detail.get("remedy") or f"leave {name} unset"),
        )


def _method_gate(case: Case, capability: int) -> Iterator[Finding]:
    subjects = method_subjects(case)
    quant = case.quant
    if not subjects or quant is None or case.engine in {"mlc-llm", "llama.cpp", "ollama"}:
        return  # the first compiles its own kernels, the others convert
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


def on_other_backend(case: Case) -> Fact | None:
    """LMDeploy on TurboMind: what the PyTorch engine's list says of the checkpoint's method."""
    if case.engine != "lmdeploy" or case.known.layer != "turbomind" or case.quant is None:
        return None
    facts = case.known.on_layer("pytorch").facts
    found = facts.get_all("quantization", case.quant.method, layer="pytorch") if facts else []
    return next((f for f in found if f.layer == "pytorch" and f.value == "native"), None)


_UNITS = {"fp8": 89, "fp8-block": 89, "nvfp4": 100, "mxfp4": 100}


def _no_gate(case: Case, label: str) -> Iterator[Finding]:
    """No gate is known: where the method is listed and the GPU has the units, that is enough."""
    quant, capability = case.quant, case.capability or 0
    if quant is None:
        return
    names = (quant.method, quant.scheme.partition("-")[0])
    listed = any(case.known.get(p, n) for p in ("quantization", "weight_format") for n in names)
    listed = listed or on_other_backend(case) is not None
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
