"""Constraints on the artefact: is the question well put, can this engine read these files.

"GGUF or vLLM?" compares an artefact with an engine. The right question is whether format,
hardware and the engine's kernels form a working path, and that is what these rules ask.
"""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.facts import version as order
from seatrial.gate.built import baked_in
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint, ok
from seatrial.gate.generic import (
    auto_model,
    config_unread,
    generic_class,
    in_library,
    newer_library,
    refused,
)
from seatrial.gate.hosts import other_byte_order
from seatrial.gate.registry import class_names, registered

_ELSEWHERE = {
    "gguf": "llama.cpp or Ollama with the same file, or the Safetensors checkpoint of the model",
    "safetensors": "vLLM, SGLang or LMDeploy with the same checkpoint, or a GGUF made of it",
    "mlc": "mlc-llm, or the Safetensors checkpoint on another engine",
    "mlx": "an MLX server, or the Safetensors or GGUF form of the model",
    "tensorrt-engine": "the checkpoint on TensorRT-LLM's PyTorch backend, or vLLM or SGLang",
}


@constraint(
    "same_layer",
    asks="Do the candidates stand in the same layer (artefact, engine, platform)?",
    needs="candidates",
    verdicts=(),
    remedy="compare engines with engines; call the rest a comparison of deployments",
)
def same_layer(case: Case) -> Finding | None:
    if case.engine != "ollama":
        return None
    fact = case.known.get("kernel_source", "all")
    core = "llama.cpp" if fact and "llama.cpp" in str(fact.value) else "its own runner"
    return Finding(
        verdict=Verdict.FEASIBLE,
        says=f"Ollama is a local platform around {core}, not an engine: against an engine it is "
        "a comparison of deployments",
        facts=[fact] if fact else [],
    )


@constraint(
    "model_unreadable",
    asks="Do the model's own files say what it is?",
    needs="model files",
    verdicts=("unknown",),
    remedy="give a folder with config.json or a .gguf",
)
def model_unreadable(case: Case) -> Finding | None:
    if case.model is not None:
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"the model could not be read: {case.model_error or 'no model was given'}",
        remedy="give model.path as a folder with config.json, or as a .gguf file",
        probe=case.probe("boot_log"),
    )


@constraint(
    "artefact_incomplete",
    asks="Are all files of the model there, whole?",
    needs="model files",
    verdicts=("conditional",),
    remedy="finish the download",
)
def artefact_incomplete(case: Case) -> Finding | None:
    if case.loaded is None:
        return None
    bad = [
        n
        for n in case.loaded.findings
        if n.startswith(("truncated", "shard")) or "shards are" in n or "split set are" in n
    ]
    if not bad:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=f"the artefact is incomplete: {bad[0]}",
        numbers={"problems": len(bad)},
        remedy="download the missing files and compare their checksums",
    )


@constraint(
    "format_unsupported",
    asks="Does the engine read this weight format?",
    needs="artefact format, fact weight_format",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another format of the model, a conversion, a plugin, or another engine",
)
def format_unsupported(case: Case) -> Finding | None:
    form = case.form
    if form is None:
        return None
    asked = "safetensors" if form in {"config", "pytorch"} else form
    if asked == "tensorrt-engine":
        return _tensorrt_engine(case)
    fact = case.known.get("weight_format", asked)
    if fact is None:
        return _unlisted_format(case, asked)
    says = f"{case.engine} {case.version or ''} and {asked}: {fact.value}".replace("  ", " ")
    if fact.condition:
        says += f" ({fact.condition})"
    if fact.value == "native":
        turned = other_byte_order(case)
        return turned or Finding(verdict=Verdict.FEASIBLE, says=says, facts=[fact])
    if fact.value == "plugin":
        plugin = fact.detail.get("plugin", "its plugin")
        last = fact.detail.get("last_version")
        older = f", or {case.engine} {last}, the last with it built in" if last else ""
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=says,
            facts=[fact],
            remedy=f"install {plugin}{older}; or {_ELSEWHERE.get(asked, '')}",
        )
    if (unread := _not_imported(case, asked)) is not None:
        return unread
    if fact.value == "conversion" or "convert" in str(fact.detail.get("remedy", "")):
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=says,
            facts=[fact],
            remedy=_conversion(case, asked, fact),
        )
    if fact.value == "none":
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=says,
            facts=[fact],
            remedy=_ELSEWHERE.get(asked, "another engine"),
        )
    return Finding(verdict=Verdict.UNKNOWN, says=says, facts=[fact], probe=case.probe("boot_log"))


def _not_imported(case: Case, form: str) -> Finding | None:
    """Ollama converts the classes on its list only; what llama.cpp has is another matter."""
    listed = case.known.get("requires", "import_classes")
    name = case.model.architecture if case.model else None
    if form != "safetensors" or listed is None or name is None or name in listed.value:
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"{case.engine} {case.version or ''} imports safetensors of {len(listed.value)} "
        f"classes, {name} is not among them: {listed.condition}",
        numbers={"classes": len(listed.value)},
        facts=[listed],
        remedy="a GGUF made by llama.cpp where it converts the class, or another engine",
    )


def _conversion(case: Case, form: str, fact: Fact) -> str:
    if case.engine == "llama.cpp":
        return "convert it with convert_hf_to_gguf.py (or take a published GGUF of the model)"
    if case.engine == "mlc-llm":
        return "mlc_llm convert_weight and mlc_llm compile, once per model and GPU"
    return str(fact.detail.get("remedy") or f"convert from {form}: {fact.condition or ''}").strip()


def _unlisted_format(case: Case, form: str) -> Finding:
    native = {f.subject for f in case.known.all("weight_format") if f.value == "native"}
    if native and form in {"mlc", "mlx", "gguf"}:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{case.engine} reads {', '.join(sorted(native))}, not {form}",
            facts=[f for f in case.known.all("weight_format") if f.value == "native"],
            remedy=_ELSEWHERE.get(form, "another engine"),
        )
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"nothing is known of {case.engine} and the format {form}",
        remedy=_ELSEWHERE.get(form, ""),
        probe=case.probe("boot_log"),
    )


def _tensorrt_engine(case: Case) -> Finding | None:
    if case.engine == "tensorrt-llm":
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"a prebuilt TensorRT engine is loaded by TensorRT-LLM only, not by {case.engine}",
        remedy="serve the checkpoint it was built from",
    )


@constraint(
    "build_mismatch",
    asks="Was the prebuilt engine made for this GPU and this version?",
    needs="prebuilt engine, GPU, fact excludes prebuilt_engine+other_gpu",
    verdicts=("infeasible", "unknown"),
    remedy="build on the target GPU type and version, or serve from the checkpoint",
)
def build_mismatch(case: Case) -> Finding | None:
    if case.form != "tensorrt-engine" or case.engine != "tensorrt-llm":
        return None
    fact = case.known.excludes("prebuilt_engine+other_gpu")
    backend = case.known.get("kernel_source", "backend")
    remedy = (
        "build on the target GPU type and version, or use the PyTorch backend from the checkpoint"
    )
    if fact is None:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"TensorRT-LLM {case.version} has no TensorRT backend any more: "
            "it cannot load a prebuilt engine",
            facts=[backend] if backend else [],
            remedy="use the PyTorch backend from the checkpoint",
        )
    built = _built_for(case)
    target = case.capability
    if (other := _version_of_plan(case, fact, remedy)).verdict is Verdict.INFEASIBLE:
        return other
    if (fixed := baked_in(case, remedy)) is not None:
        return fixed
    if built is None or target is None:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says="for which GPU the engine was built is not written beside it; it runs only on "
            "that compute capability",
            facts=[fact],
            remedy=remedy,
            probe=case.probe("boot_log"),
        )
    if built != target:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"built for compute {built / 10:.1f}, the target is compute {target / 10:.1f}: "
            "a plan file runs only on the device type it was generated on",
            numbers={"built_for": built, "capability": target},
            facts=[fact],
            remedy=remedy,
        )
    return _version_of_plan(case, fact, remedy)


def _built_for(case: Case) -> int | None:
    if case.model and case.model.built_for:
        return case.model.built_for
    from seatrial.model.prebuilt import capability

    for name in ("built_for", "gpu_arch", "compute_capability"):
        value = case.candidate.args.get(name)
        if value is not None:
            return capability(str(value))
    return None


def _version_of_plan(case: Case, fact: Fact, remedy: str) -> Finding:
    made = case.model.built_with if case.model else None
    if made and case.version and made != case.version:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"built with TensorRT-LLM {made}, served with {case.version}: plans are tied to "
            "their version",
            numbers={"built_with": made},
            facts=[fact],
            remedy=remedy,
        )
    return ok("the prebuilt engine was made for this compute capability")


@constraint(
    "format_multifile",
    asks="Does the loader take a model in several files?",
    needs="GGUF split set, fact excludes gguf+multi_file",
    verdicts=("conditional", "unknown"),
    remedy="merge with llama.cpp's gguf-split --merge",
)
def format_multifile(case: Case) -> Finding | None:
    model = case.loaded
    if model is None or model.format != "gguf" or model.shards < 2:
        return None
    fact = case.known.excludes("gguf+multi_file")
    weight = case.known.get("weight_format", "gguf")
    numbers = {"files": model.shards}
    remedy = "gguf-split --merge (llama.cpp), or llama.cpp itself: it loads from the first shard"
    if fact is not None or (weight is not None and weight.detail.get("multi_file") is False):
        used = [f for f in (fact, weight) if f is not None]
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers=dict(numbers),
            facts=used,
            remedy=remedy,
            says=f"the GGUF comes in {model.shards} files, the loader takes one",
        )
    if weight is not None and weight.detail.get("multi_file") is True:
        return Finding(
            verdict=Verdict.FEASIBLE,
            numbers=dict(numbers),
            facts=[weight],
            says=f"{model.shards} files, loaded from the first",
        )
    if weight is not None and weight.value == "none":
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers=dict(numbers),
        remedy=remedy,
        says=f"the GGUF comes in {model.shards} files; whether the loader takes them is not known",
        probe=case.probe("boot_log"),
    )


@constraint(
    "gguf_arch_unsupported",
    asks="Is this GGUF architecture on the engine's own, shorter list?",
    needs="GGUF architecture, fact weight_format gguf:architectures",
    verdicts=("infeasible", "unknown"),
    remedy="the Safetensors checkpoint on this engine, or llama.cpp (with the mmproj file)",
)
def gguf_arch_unsupported(case: Case) -> Finding | None:
    model = case.loaded
    if model is None or model.format != "gguf" or case.engine in {"llama.cpp", "ollama"}:
        return None
    weight = case.known.get("weight_format", "gguf")
    if weight is None or weight.value in ("none", "plugin"):
        return None
    listed = case.known.get("weight_format", "gguf:architectures")
    name = model.architecture or "?"
    if listed is None:
        return Finding(
            verdict=Verdict.UNKNOWN,
            probe=case.probe("boot_log"),
            says=f"{case.engine}'s list of GGUF architectures was not read: {name} is not verified",
        )
    names = listed.value if isinstance(listed.value, list) else []
    if name in names:
        return Finding(
            verdict=Verdict.FEASIBLE,
            facts=[listed],
            says=f"GGUF architecture {name} is on {case.engine}'s list",
        )
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"GGUF model with architecture {name} is not supported: {case.engine}'s GGUF list has "
        f"{len(names)} architectures, much shorter than its model list",
        numbers={"architectures": len(names)},
        facts=[listed],
        remedy="the Safetensors form (FP8, AWQ) on this engine, or llama.cpp"
        + (" with the mmproj file" if "vl" in name else ""),
    )


@constraint(
    "arch_unsupported",
    asks="Is the model's class in the engine's registry?",
    needs="architecture, fact architecture",
    verdicts=("infeasible", "conditional", "degraded", "unknown"),
    remedy="a version that has it, a plugin, or another engine",
)
def arch_unsupported(case: Case) -> Iterator[Finding]:
    name = case.architecture
    if name is None or case.form in {"tensorrt-engine", "mlc"}:
        return
    if case.form == "gguf" and case.engine not in {"llama.cpp", "ollama"}:
        return
    fact = registered(case, name)
    if fact is None:
        yield _other_engine(case, name) or _unregistered(case, name)
        return
    where = f"{case.engine} {case.version or ''}".strip()
    says = f"{name} in {where}: {fact.value}"
    last = fact.detail.get("last_version") or fact.detail.get("last_good")
    if fact.value in ("native", True, "yes"):
        gone = _gone_later(case, name)
        if (new := _newer_than_class(case, name)) is not None:
            yield new
        elif (unread := config_unread(case)) is not None:
            yield Finding(
                verdict=Verdict.CONDITIONAL,
                says=f"{name} in {where}: {unread[0]}",
                facts=[fact, *unread[2]],
                remedy=unread[1],
            )
        elif gone is None:
            yield Finding(verdict=Verdict.FEASIBLE, says=says, facts=[fact])
        else:
            yield Finding(
                verdict=Verdict.UNKNOWN,
                says=f"{name} was there before {case.version} and is gone in "
                f"{gone.version}: which of the two holds here was not read",
                facts=[fact, gone],
                probe=case.probe("facts"),
            )
    elif fact.value == "fallback":
        yield Finding(
            verdict=Verdict.DEGRADED,
            says=f"{says}: a generic class runs it",
            facts=[fact],
            remedy="an engine that has the class, if speed matters",
            probe=case.probe("boot_log"),
        )
    elif fact.value == "plugin":
        plugin = fact.detail.get("plugin", "its plugin")
        yield Finding(
            verdict=Verdict.CONDITIONAL, says=says, facts=[fact], remedy=f"install {plugin}"
        )
    elif fact.value == "absent" and case.engine == "tgi":
        yield auto_model(case, name, [fact])
    elif fact.value in ("removed", "absent"):
        remedy = f"{case.engine} {last}, the last version with it" if last else "another engine"
        yield Finding(verdict=Verdict.INFEASIBLE, says=says, facts=[fact], remedy=remedy)
    else:
        yield Finding(
            verdict=Verdict.UNKNOWN, says=says, facts=[fact], probe=case.probe("boot_log")
        )


def _other_engine(case: Case, name: str) -> Finding | None:
    """LMDeploy: an architecture that TurboMind lacks runs on its PyTorch engine, with a log line,
    and then under that engine's rules."""
    if case.engine != "lmdeploy" or case.known.layer != "turbomind":
        return None
    other = case.known.on_layer("pytorch")
    fact, rule = other.get("architecture", name), case.known.excludes("architecture+turbomind")
    if fact is None or fact.value != "native" or rule is None:
        return None
    if (doubt := other.excludes(f"{name}+doubt")) is not None:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{name} is not among TurboMind's architectures, and for the PyTorch engine the "
            f"sources differ: {doubt.condition}",
            facts=[fact, rule, doubt],
            remedy="an earlier version, or another engine",
            probe=case.probe("boot_log"),
        )
    floor = other.get("min_capability", "engine")
    low = floor is not None and (case.capability or 999) < (floor.value or 0)
    return Finding(
        verdict=Verdict.INFEASIBLE if low else Verdict.DEGRADED,
        says=f"{name} is not among TurboMind's architectures: the PyTorch engine takes over"
        + (f" and needs compute {floor.value / 10:.1f}" if low and floor else ""),
        facts=[fact, rule, *([floor] if low and floor else [])],
        remedy="backend: pytorch, said openly; or another engine",
        probe=None if low else case.probe("boot_log"),
    )


def _gone_later(case: Case, name: str) -> Fact | None:
    """For a version between two that were read: whether the later one no longer has the class."""
    later = case.known.later
    if case.known.exact or later is None:
        return None
    fact = later.get("architecture", name, layer=case.known.layer)
    return fact if fact is not None and fact.value in ("removed", "absent", "plugin") else None


def _never_there(case: Case, name: str) -> str | None:
    """For a version whose registry was not read: what newer readings say of it. A class that the
    next reading lacks too, or that a reading of this version or a newer one still lacked, was
    not there (a class that has come and gone leaves a row of its own)."""
    later, version = case.known.later, case.version
    if case.known.exact or version is None:
        return None
    generic = generic_class(case.known)
    if generic is None and (told := case.known.lacks("architecture", class_names(case, name))):
        return told
    if later is None:
        return None
    if generic is not None:
        return None  # a generic class may run it
    names = class_names(case, name)
    found = [f for n in names if (f := later.get("architecture", n, layer=case.known.layer))]
    if not found:
        known = later.knows("architecture") and case.engine != "tgi"
        if case.engine == "mlc-llm":  # its table lists model types
            known = known and case.model is not None and case.model.model_type is not None
        if case.engine == "ollama":
            core = case.known.core(later)
            known = core is not None and not any(core.get("architecture", n) for n in names)
        generic = generic_class(later)
        if not known or generic is not None:
            return None
        return f"{later.resolved}, the next version read, does not have it either"
    since = case.known.first_seen("architecture", names)
    lacking = case.known.last_reading_before("architecture", since) if since else None
    if lacking is None or order.key(version) > order.key(lacking):
        return None
    return f"{lacking}, read, did not have it; {since} does"


def _newer_than_class(case: Case, name: str) -> Finding | None:
    """The class is there, a part of this configuration came to it later."""
    for trait in case.model.traits if case.model else []:
        for subject in (f"{name}+{trait}", trait):
            fact = case.known.excludes(subject)
            if fact is not None and fact.value == "refuses":
                return Finding(
                    verdict=Verdict.INFEASIBLE,
                    says=f"{name} is in {case.engine} {case.version or ''}, {trait} is not: "
                    f"{fact.condition}",
                    facts=[fact],
                    remedy=str(fact.detail.get("remedy") or f"{case.engine} {fact.until} or later"),
                )
    return None


def _in_no_branch(case: Case, name: str) -> bool:
    """TGI's table of types only grew: what the next reading lacks was not there before."""
    later = case.known.later
    if case.known.exact:
        return case.known.complete("architecture")
    if later is None or not later.knows("architecture"):
        return False
    return not any(later.get("architecture", n) for n in class_names(case, name))


def _unregistered(case: Case, name: str) -> Finding:
    """Absence has three readings: refused, a generic class, or a registry that was not read."""
    if case.engine == "transformers":
        known, where = in_library(case, name)
        if known is not None:
            has = "in" if known else "not in"
            return Finding(
                verdict=Verdict.FEASIBLE if known else Verdict.INFEASIBLE,
                says=f"{name} is {has} the tables of Transformers {case.version} ({where})",
                remedy="" if known else "a later version, or code that comes with the model",
            )
    if (why := _never_there(case, name)) is not None:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{name} is not in {case.engine} {case.version}: {why}",
            remedy="an engine or a version whose registry has it",
        )
    if case.engine == "tgi" and _in_no_branch(case, name):
        return auto_model(case, name, [])
    between = case.known.lacks("architecture", class_names(case, name))
    if between is None and not case.known.complete("architecture"):
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"no registry of {case.engine} {case.version or ''} was read: {name} is not "
            "verified",
            remedy=f"seatrial facts sync {case.engine}"
            + (f"=={case.version}" if case.version else ""),
            probe=case.probe("facts"),
        )
    if between is None and not case.known.exact:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{name} is not in the registry of {case.known.facts.resolved}, the version "  # type: ignore[union-attr]
            f"read; {case.version} may have added it",
            probe=case.probe("facts"),
        )
    fallback = generic_class(case.known)
    if fallback is not None and case.engine in {"vllm", "sglang"}:
        nothing = refused(case, name)
        if nothing is not None and (newer := newer_library(case, name)) is not None:
            since, wanted = newer
            return Finding(
                verdict=Verdict.CONDITIONAL,
                says=f"{name} is not in the registry of {case.engine} {case.version}; the generic "
                f"class runs it with Transformers {since} or later, which came after the engine "
                f"and which its requirement ({wanted.value}) admits",
                facts=[fallback, wanted],
                remedy=f"transformers {since} put beside it, and a check: a generic class runs it; "
                f"or a later {case.engine}",
            )
        if nothing is not None:
            why, remedy, facts = nothing
            return Finding(
                verdict=Verdict.INFEASIBLE,
                says=f"{name} is not in the registry of {case.engine} {case.version}; {why}",
                facts=[fallback, *facts],
                remedy=remedy,
            )
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{name} is in no registry of {case.engine} {case.version}; the generic "
            "Transformers class may run it, or refuse",
            facts=[fallback],
            remedy="another engine, or the fallback after its probe",
            probe=case.probe("boot_log"),
        )
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"{name} is not in the registry of {case.engine} {case.version}",
        remedy="an engine or a version whose registry has it",
    )
