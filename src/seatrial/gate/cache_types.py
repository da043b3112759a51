"""The constraint on the cache's type: asked of the engine, of the chip, and of what goes with it.

Being on the engine's list is not having a kernel, and a type that is accepted may be left aside
without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint

PLAIN = frozenset({"auto", "bf16", "bfloat16", "f16", "fp16", "float16", "f32", "0"})
"""What every engine keeps its cache in."""


@constraint(
    "kv_dtype_unsupported",
    asks="Can the cache be kept in the requested type on this GPU?",
    needs="requires.kv_cache_dtype or the engine's flag, fact kv_cache_dtype",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="auto, or a type on the engine's list",
)
def kv_dtype_unsupported(case: Case) -> Finding | None:
    if (left_aside := _without_flash_attention(case)) is not None:
        return left_aside
    if (pair := _mixed_types(case)) is not None:
        return pair
    asked = case.spec.requires.kv_cache_dtype or case.set.kv_dtype
    if asked is None or asked.lower() in PLAIN:
        return None
    if case.engine == "lmdeploy":  # quant_policy is written as the number of bits
        asked = {"int8": "8", "int4": "4"}.get(asked.lower(), asked)
    fact = case.known.get("kv_cache_dtype", asked)
    # a type that only a flag asks for can be left out; one that is required cannot
    refused = Verdict.INFEASIBLE if case.spec.requires.kv_cache_dtype else Verdict.CONDITIONAL
    for exclusion, what, remedy in _exclusions(case, asked.lower()):
        if exclusion is not None and exclusion.value == "refuses":
            return Finding(
                verdict=refused,
                facts=[exclusion],
                says=f"a cache in {asked} {what}: {exclusion.condition}",
                remedy=str(exclusion.detail.get("remedy") or remedy),
            )
    if (low := _fp8_cache_below(case, asked, fact)) is not None:
        return low
    return _listed(case, asked, fact, refused)


def _exclusions(case: Case, asked: str) -> Iterator[tuple[Fact | None, str, str]]:
    """(What excludes the type here, beside what, what to do), the most binding first."""
    capability = case.capability or 0
    ada = capability == 89  # a family of its own: it has FP8 units
    family = "sm89" if ada else f"sm{capability // 10}0"
    yield (
        case.known.excludes(f"kv_cache:{asked}+{family}"),
        f"on compute {capability / 10:.1f}",
        "kv_cache_dtype auto, or one that the chip computes in",
    )
    sparse = case.model is not None and case.model.shape.index_topk
    if case.target.vendor == "amd" and sparse and asked.startswith("fp8"):
        yield (
            case.known.excludes("kv_cache:fp8+sparse_rocm"),
            "with sparse attention on AMD",
            "kv_cache_dtype auto",
        )
    if case.quant is not None:
        method = case.quant.method
        yield (
            case.known.excludes(f"kv_cache:{asked}+{method}"),
            f"with a checkpoint in {method}",
            "kv_cache_dtype auto or fp8 (E4M3)",
        )


def _listed(case: Case, asked: str, fact: Fact | None, refused: Verdict) -> Finding:
    """What the engine's list of cache types says."""
    listed = case.known.all("kv_cache_dtype")
    spelled = next((f for f in listed if _one_type(f.subject, asked)), None)
    if fact is not None and fact.value not in ("none", "no", False):
        return Finding(
            verdict=Verdict.FEASIBLE,
            facts=[fact],
            says=f"{asked} is among {case.engine}'s cache types",
        )
    if fact is None and spelled is not None:
        return Finding(
            verdict=Verdict.FEASIBLE,
            facts=[spelled],
            says=f"{asked}: {case.engine} spells it {spelled.subject}",
        )
    if fact is not None or (case.known.complete("kv_cache_dtype") and case.known.exact):
        return Finding(
            verdict=refused,
            facts=[fact] if fact is not None else listed[:1],
            says=f"{asked} is not among {case.engine} {case.version or ''}'s cache types",
            remedy="kv_cache_dtype auto, a type on the list, or a later version",
        )
    return Finding(
        verdict=Verdict.UNKNOWN,
        probe=case.probe("boot_log"),
        says=f"whether {case.engine} keeps its cache in {asked} is not verified",
    )


def _one_type(listed: str, asked: str) -> bool:
    """Whether two spellings are one type, or one names it more exactly: fp8 and fp8_e4m3."""
    one, other = (text.lower().replace("_", "").replace("-", "") for text in (listed, asked))
    return one.startswith(other) or other.removeprefix(one) in {"e4m3", "e5m2", "e4m3fn"}


def _without_flash_attention(case: Case) -> Finding | None:
    """llama.cpp's kernels take quantised values only with flash attention, which is a switch: a
    server refuses to start without it, Ollama keeps 16 bits and says so in its log only."""
    fact = case.known.excludes("kv_cache:quantized+no_flash_attention")
    asked = case.spec.requires.kv_cache_dtype or _value_type(case)
    if fact is None or asked is None or asked.lower() in PLAIN:
        return None
    never = case.architecture in fact.detail.get("never", [])
    default = case.known.value("default", "flash_attention")
    by_default = default == "auto" or (isinstance(default, list) and case.architecture in default)
    if _flash_attention(case, by_default) and not never:
        return None
    remedy = str(fact.detail.get("remedy") or "")
    return Finding(
        verdict=Verdict.INFEASIBLE if never else Verdict.CONDITIONAL,
        facts=[fact],
        says=f"a cache in {asked} without flash attention: {fact.condition}",
        remedy=f"{case.architecture} has none there: a cache in f16" if never else remedy,
    )


def _mixed_types(case: Case) -> Finding | None:
    """Quantised values beside keys of another type: the CUDA build has no kernel for the pair, and
    flash attention, which would choose itself, stays off (ggml-org/llama.cpp#28524)."""
    fact = case.known.excludes("mixed_kv_cache+cuda")
    value = _value_type(case) if case.engine == "llama.cpp" else None
    key = str(case.args.get("cache_type_k", case.args.get("ctk", "f16")))
    if fact is None or value is None or value.lower() in PLAIN or case.target.vendor != "nvidia":
        return None
    if key.lower() == value.lower():
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact],
        says=f"keys in {key}, values in {value}: {fact.condition}",
        remedy=str(fact.detail.get("remedy") or "one type for keys and values"),
    )


def _value_type(case: Case) -> str | None:
    """What the values are kept in: keys may be quantised without flash attention."""
    named = case.args.get("cache_type_v", case.args.get("ctv"))
    named = named or case.candidate.env.get("OLLAMA_KV_CACHE_TYPE")
    return str(named) if named else None


def _flash_attention(case: Case, default: bool) -> bool:
    """Whether the switch is on: by flag, by variable, or by default."""
    stated: Any = case.candidate.env.get("OLLAMA_FLASH_ATTENTION")
    for name in ("flash_attn", "fa"):
        stated = case.args.get(name, stated)
    if stated is None or str(stated).lower() == "auto":
        return default
    return str(stated).lower() in {"1", "true", "on", "t", "yes"}


def _heads_taken(case: Case, shown: Fact) -> bool:
    """Whether the heads are of a size that these kernels take (all, where the fact names none)."""
    sizes, model = shown.detail.get("heads"), case.model
    if not sizes or model is None:
        return True
    return all(
        g.kind == "state" or (g.kind != "latent" and g.key_dim in sizes) for g in model.cache
    )


def _fp8_cache_below(case: Case, asked: str, listed: Fact | None) -> Finding | None:
    """Being on the list is not having a kernel: no FP8 units below compute 8.9, unless somebody
    has shown that this version converts the type in software."""
    capability = case.capability
    if capability is None or capability >= 89 or not asked.lower().startswith("fp8"):
        return None
    chunked = case.known.excludes("kv_cache:fp8+chunked_prefill")
    if chunked is not None and case.set.chunked:
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers={"capability": capability, "native_from": 89},
            facts=[chunked],
            says=f"a cache in {asked} with chunked prefill on compute {capability / 10:.1f}: "
            f"{chunked.condition}",
            remedy=str(chunked.detail.get("remedy") or "leave chunked prefill off"),
        )
    shown = case.known.get("min_capability", f"kv_cache:{asked.lower()}")
    taken = shown is not None and capability >= shown.value and _heads_taken(case, shown)
    if listed is not None and taken:
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers={"capability": capability, "native_from": 89},
        says=f"a cache in {asked} on compute {capability / 10:.1f}: accepted by the flag, but "
        "whether an attention backend has a kernel for it without FP8 units must be seen",
        remedy="kv_cache_dtype auto, int8 where the engine has it, or a GPU from compute 8.9",
        probe=case.probe("load_and_kernel"),
    )
