"""Constraints of contract: a feature that must work is there, or the candidate is out.

One rule serves all features: the ``supports`` fact says yes, no, or on which condition. What no
fact speaks of is ``unknown`` with the probe that settles it, never a pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.adapters import gated_query, over_vocabulary
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact, constraint
from seatrial.gate.dialects import asks_for
from seatrial.gate.kernels import flag_lifts, marked, on_other_backend
from seatrial.gate.topology import class_support

_INSTEAD = {
    "structured_output": "vLLM, SGLang, LMDeploy or llama.cpp",
    "lora": "vLLM or SGLang (many adapters in one batch), LMDeploy's PyTorch engine",
    "prefix_cache": "vLLM, SGLang or TensorRT-LLM",
    "pd_disaggregation": "vLLM, SGLang, TensorRT-LLM or LMDeploy's PyTorch engine",
    "embeddings": "vLLM, SGLang, llama.cpp, or text-embeddings-inference",
    "speculative": "vLLM, SGLang, TensorRT-LLM or llama.cpp",
}

_OFF = {
    "prefix_cache": {
        "disable_radix_cache": True,
        "enable_prefix_caching": False,
        "no_enable_prefix_caching": True,
    },
}
"""Flags that switch a feature off (vLLM's and SGLang's spelling)."""

Asked = Callable[[Case], Any]


def judge(case: Case, feature: str, words: str) -> Finding:
    """The one rule: what the ``supports`` fact says."""
    fact = case.known.supports(feature)
    name = f"{case.engine} {case.version or ''}".strip()
    if fact is None:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{words} in {name} is not verified",
            remedy="run its probe",
            probe=case.probe("real_request"),
        )
    says = f"{words} in {name}: {fact.value}" + (f" ({fact.condition})" if fact.condition else "")
    if fact.value in ("yes", True, "native"):
        unset = _flags_unset(case, feature, words) or _lost_by_variable(case, feature, words)
        return unset or Finding(verdict=Verdict.FEASIBLE, says=says, facts=[fact])
    if fact.value in ("no", False, "none"):
        other = on_pytorch(case, feature)
        return Finding(
            verdict=Verdict.INFEASIBLE if other is None else Verdict.CONDITIONAL,
            says=says,
            facts=[fact, *([other] if other else [])],
            remedy=_other_engine(case, feature),
        )
    if fact.value == "conditional":
        remedy = fact.detail.get("remedy") or fact.condition or "see the condition"
        return Finding(verdict=Verdict.CONDITIONAL, says=says, facts=[fact], remedy=str(remedy))
    return Finding(
        verdict=Verdict.UNKNOWN, says=says, facts=[fact], probe=case.probe("real_request")
    )


def _lost_by_variable(case: Case, feature: str, words: str) -> Finding | None:
    """A feature that a variable of the environment takes away: another engine core, say."""
    for name, value in case.candidate.env.items():
        fact = case.known.excludes(f"{feature}+env:{name}")
        if fact is not None and str(value).strip().lower() in {"1", "true"}:
            what = f"{words} under {name}={value}"
            return by_fact(case, fact, what, verdict=Verdict.CONDITIONAL, remedy=f"{name}=0")
    return None


def on_pytorch(case: Case, feature: str) -> Fact | None:
    """LMDeploy on TurboMind: the PyTorch engine's yes to a feature, where the class is on its list
    and the GPU within its floor: a flag changes to it."""
    if case.engine != "lmdeploy" or case.known.layer != "turbomind":
        return None
    other = case.known.on_layer("pytorch")
    fact, floor = other.supports(feature), other.get("min_capability", "engine")
    low = floor is not None and (case.capability or 999) < (floor.value or 0)
    listed = other.get("architecture", case.architecture or "") is not None
    stored = case.quant is None or on_other_backend(case) is not None
    if fact is None or fact.value != "yes" or low or not listed or not stored:
        return None
    return fact


def _flags_unset(case: Case, feature: str, words: str) -> Finding | None:
    """A feature that is off until flags turn it on, and they are not among the candidate's; of a
    server that somebody else started nothing is known."""
    need = case.known.get("requires", f"flags:{feature}")
    args = case.args
    if not case.written or case.candidate.endpoint:
        return None
    if (
        off := next((k for k, v in _OFF.get(feature, {}).items() if args.get(k) is v), None)
    ) is not None:
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says=f"{words}: the candidate's own {off} = {args[off]} switches it off",
            remedy=f"without {off.replace('_', '-')} = {args[off]}",
        )
    if need is None or not isinstance(need.value, list):
        return None
    unset = (None, False, "")
    lacking = [
        f.partition("|")[0]
        for f in need.value
        if all(args.get(name) in unset for name in f.split("|"))
    ]
    if not lacking:
        return None
    flags = " ".join(f"--{f.replace('_', '-')}" for f in lacking)
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[need],
        says=f"{words} in {case.engine} {case.version or ''} without {flags}: {need.condition}",
        remedy=f"{flags} (the parser of this model's family)" if "parser" in flags else flags,
    )


def _other_engine(case: Case, feature: str) -> str:
    if case.engine == "lmdeploy" and case.known.layer != "pytorch":
        return f"backend: pytorch; or {_INSTEAD.get(feature, 'another engine')}"
    return _INSTEAD.get(feature.partition(":")[0], "another engine")


def _declare(feature: str, words: str, asked: Asked) -> None:
    """One declarative entry per feature of the workload file."""

    @constraint(
        f"feature_missing_{feature}",
        asks=f"Has the engine what is required: {words}?",
        needs=f"requires.{feature}, fact supports {feature}",
        verdicts=("infeasible", "conditional", "unknown"),
        remedy="another engine, another version, or the condition met",
    )
    def rule(case: Case) -> Finding | None:
        return judge(case, feature, words) if asked(case) else None


@constraint(
    "feature_missing_structured_output",
    asks="Has the engine what is required: structured output?",
    needs="requires.structured_output, facts supports structured_output and structured_output:KIND",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another engine, another version, or the condition met",
)
def feature_missing_structured_output(case: Case) -> Finding | None:
    """A fact upon the kind (schema, regex, grammar, choice) says more than one upon them all."""
    kind = case.spec.requires.structured_output
    if not kind:
        return None
    if case.known.supports(f"structured_output:{kind}") is not None:
        return judge(case, f"structured_output:{kind}", f"structured output ({kind})")
    return judge(case, "structured_output", "structured output")


_declare("streaming_cancel", "cancellation of a stream", lambda c: c.spec.requires.streaming_cancel)


@constraint(
    "feature_missing_prefix_cache",
    asks="Has the engine what is required: prefix reuse?",
    needs="requires.prefix_cache, recurrent and sliding layers, facts supports and excludes",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another engine, another version, or the condition met",
)
def feature_missing_prefix_cache(case: Case) -> Finding | None:
    if (windowed := _windowed_prefix(case)) is not None:
        return windowed
    if not case.spec.requires.prefix_cache:
        return None
    images = case.known.excludes("prefix_cache+vision")
    if images is not None and case.model is not None and case.model.vision:
        return by_fact(case, images, "prefix reuse with an image model")
    own = case.known.excludes(f"prefix_cache+{case.architecture}")
    if own is not None and own.value == "refuses":
        return by_fact(case, own, f"prefix reuse with {case.architecture}")
    if (chip := _prefix_chip(case)) is not None:
        return chip
    fact = case.known.excludes("prefix_cache+recurrent")
    hybrid = case.loaded is not None and case.loaded.recurrent
    if fact is None or not hybrid:
        return judge(case, "prefix_cache", "prefix reuse")
    refused = fact.value == "refuses"
    return Finding(
        verdict=Verdict.INFEASIBLE if refused else Verdict.UNKNOWN,
        says=f"prefix reuse with recurrent layers in {case.engine} {case.version or ''}: "
        f"{fact.condition}",
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or "count the hits on the workload's own trace"),
        probe=None if refused else case.probe("real_request"),
    )


def _prefix_chip(case: Case) -> Finding | None:
    """The kernel that reads a kept prefix has no code for this GPU, or none was shown since."""
    for fact, holds in marked(case, "prefix_cache"):
        found = by_fact(
            case,
            fact,
            f"prefix reuse on compute {(case.capability or 0) / 10:.1f}",
            verdict=Verdict.INFEASIBLE if holds else Verdict.UNKNOWN,
            remedy="a newer GPU, or another engine",
        )
        probe = None if holds else case.probe("real_request")
        return msgspec.structs.replace(found, probe=probe)
    return None


def _windowed_prefix(case: Case) -> Finding | None:
    """A model whose attention all slides: its cache was not kept for later prompts. Where layers
    alternate, the engine of those releases left the window out."""
    flag = case.candidate.args.get("enable_prefix_caching")
    model, fact = case.loaded, case.known.excludes("prefix_cache+sliding_window")
    if fact is None or fact.value != "refuses" or model is None or not model.cache:
        return None
    windows = [g.window or 0 for g in model.cache if g.kind == "sliding"]
    if not (case.spec.requires.prefix_cache or flag is True) or len(windows) < len(model.cache):
        return None
    lifted, words = flag_lifts(case, fact)
    if lifted:
        return None
    within = words is not None and case.context is not None and case.context <= min(windows)
    return Finding(
        verdict=Verdict.CONDITIONAL if within else Verdict.INFEASIBLE,
        numbers={"window": min(windows)},
        says=f"{fact.condition} in {case.engine} {case.version or ''}; every layer's attention "
        f"slides over {min(windows)} tokens",
        facts=[fact],
        remedy=str(words if within else fact.detail.get("remedy")),
    )


_declare("tools", "tool calls", lambda c: c.spec.requires.tools)
_declare(
    "reasoning_parser",
    "reasoning apart from the answer",
    lambda c: c.spec.requires.reasoning_parser,
)
_declare("logprobs", "log probabilities", lambda c: c.spec.requires.logprobs)


_declare(
    "pd_disaggregation", "prefill and decode apart", lambda c: c.spec.requires.pd_disaggregation
)


@constraint(
    "feature_missing_lora",
    asks="Does the engine serve as many adapters at once as required?",
    needs="requires.lora, facts supports lora, class support",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another engine, or adapters merged into the weights",
)
def feature_missing_lora(case: Case) -> Finding | None:
    asked = case.spec.requires.lora
    if not asked:
        return None
    claimed, own = class_support(case, "lora")
    if claimed is False and own is not None:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            facts=[own],
            says=f"the class {case.architecture} does not take adapters in "
            f"{case.engine} {case.version or ''}",
            remedy="merge the adapters into the weights, or another engine",
        )
    if (gated := gated_query(case)) is not None:
        return gated
    count = getattr(asked, "max_adapters", 1)
    fact = case.known.supports("lora")
    if fact is not None and "one, fixed" in (fact.condition or "") and count > 1:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            facts=[fact],
            numbers={"adapters": count},
            says=f"{case.engine} takes one fixed adapter, {count} are required",
            remedy=_INSTEAD["lora"],
        )
    found = judge(case, "lora", "LoRA adapters")
    more = [f for f in (lora_rank_limit(case), feature_missing_lora_moe(case)) if f is not None]
    refused = any(f.verdict is Verdict.INFEASIBLE for f in more if isinstance(f, Finding))
    if not refused and (large := over_vocabulary(case)) is not None:
        return large
    said = any(f.verdict is Verdict.CONDITIONAL for f in more if isinstance(f, Finding))
    return None if said and found.verdict is Verdict.CONDITIONAL else found  # they say more


@constraint(
    "feature_missing_lora_moe",
    asks="Do the adapters hold expert weights, and does the engine take those?",
    needs="adapter tensors, experts, fact excludes lora+moe_experts",
    verdicts=("conditional",),
    remedy="adapters without expert weights, merged adapters, or a later version",
)
def feature_missing_lora_moe(case: Case) -> Finding | None:
    if not (case.spec.requires.lora or case.set.lora) or not case.moe:
        return None
    fact = case.known.excludes("lora+moe_experts")
    holds = case.adapters_hold_experts
    if holds is False or fact is None:
        return None
    known = (
        "the adapter holds expert weights"
        if holds
        else ("if an adapter holds expert weights (look for 'experts' in its tensor names)")
    )
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact],
        says=f"{known}: {fact.value} in {case.engine} {case.version or ''} ({fact.condition})",
        remedy=str(
            fact.detail.get("remedy")
            or "attention-only adapters, a merged adapter, or an architecture on the engine's list"
        ),
    )


@constraint(
    "lora_rank_limit",
    asks="Is the adapters' rank within the engine's limit as configured?",
    needs="requires.lora.max_rank, max_lora_rank, fact lora_limit",
    verdicts=("infeasible", "conditional"),
    remedy="max_lora_rank = the largest rank in the set, no higher",
)
def lora_rank_limit(case: Case) -> Finding | None:
    rank = _rank(case)
    if rank is None:
        return None
    if (refused := _refused_rank(case, rank)) is not None:
        return refused
    fact = case.known.get("lora_limit", "max_lora_rank")
    limit = case.set.lora_rank or (fact.value if fact and isinstance(fact.value, int) else None)
    if limit is None:
        return None
    numbers = {"rank": rank, "max_lora_rank": limit}
    facts = [fact] if fact else []
    if rank <= limit:
        return Finding(
            verdict=Verdict.FEASIBLE,
            numbers=dict(numbers),
            facts=facts,
            says=f"rank {rank} is within max_lora_rank {limit}",
        )
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers=dict(numbers),
        facts=facts,
        says=f"LoRA rank {rank} is greater than max_lora_rank {limit}"
        + ("" if case.set.lora_rank else " (default)"),
        remedy=f"--max-lora-rank {_allowed(case, rank)}: the largest rank in the set and no more, "
        "every adapter is padded to it; --max-loras = adapters in one batch",
    )


def _rank(case: Case) -> int | None:
    asked = case.spec.requires.lora
    ranks = [
        getattr(asked, "max_rank", None) if asked and asked is not True else None,
        case.adapter_rank,
    ]
    return max((r for r in ranks if r), default=None)


_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values of max_lora_rank that vLLM takes today (vllm/config/lora.py MaxLoRARanks)."""


def _allowed(case: Case, rank: int) -> int:
    """The smallest value of this version's list that holds the rank."""
    return next((r for r in _values(case) if r >= rank), rank)


def _values(case: Case) -> tuple[int, ...]:
    listed = case.known.value("lora_limit", "max_lora_rank:values")
    return tuple(listed) if isinstance(listed, list) else _RANKS


def _refused_rank(case: Case, rank: int) -> Finding | None:
    """vLLM takes only listed ranks: above the highest nothing serves the adapter."""
    fact = case.known.get("lora_limit", "max_lora_rank:values")
    if case.engine != "vllm":
        return None
    listed = _values(case)
    stated, highest = case.set.lora_rank, max(listed)
    if rank > highest and fact is not None:
        verdict, remedy = Verdict.INFEASIBLE, "a later version, an adapter of lower rank, or merged"
    elif stated is not None and stated not in {1, *listed}:
        verdict, remedy = Verdict.CONDITIONAL, f"--max-lora-rank {_allowed(case, rank)}"
    else:
        return None
    values = ", ".join(map(str, listed))
    return Finding(
        verdict=verdict,
        numbers={"rank": rank, "highest": highest},
        facts=[fact] if fact else [],
        says=f"rank {rank}, max_lora_rank {stated or 'not set'}: {case.engine} "
        f"{case.version or ''} takes one of {values}",
        remedy=remedy,
    )


@constraint(
    "lora_count_limit",
    asks="Do as many adapters as required fit in one batch as configured?",
    needs="requires.lora.max_adapters, max_loras, fact lora_limit",
    verdicts=(),
    remedy="max_loras = adapters active at once",
)
def lora_count_limit(case: Case) -> Finding | None:
    asked = case.spec.requires.lora
    count = getattr(asked, "max_adapters", None) if asked and asked is not True else None
    if not count or count < 2:
        return None
    fact = case.known.get("lora_limit", "max_loras") or case.known.get(
        "lora_limit", "max_loras_per_batch"
    )
    limit = case.set.lora_count or (fact.value if fact and isinstance(fact.value, int) else None)
    if limit is None or count <= limit:
        return None
    return Finding(
        verdict=Verdict.FEASIBLE,
        facts=[fact] if fact else [],
        numbers={"adapters": count, "max_loras": limit},
        says=f"{count} adapters are required, {limit} share a batch as configured: the others wait "
        "or are swapped in",
        remedy=f"--max-loras {count} (memory for each is reserved)",
    )


_PROJECTOR = ("mmproj", "mmproj_url", "hf_repo", "hf")
"""llama.cpp's flags that name a projector, or a repository from which it is taken along."""


@constraint(
    "feature_missing_vision",
    asks="Can images be sent?",
    needs="requires.vision, vision tower or mmproj, fact supports vision",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="the projector file, a model with a vision tower, or another engine",
)
def feature_missing_vision(case: Case) -> Finding | None:
    if not case.spec.requires.vision:
        return None
    model = case.loaded
    told = case.known.supports("vision")
    if told is not None and told.value in ("no", False, "none"):
        return judge(case, "vision", "images")
    split = case.known.excludes("split_projector")
    if split is not None and case.architecture in split.detail.get("architectures", []):
        return by_fact(case, split, f"images with {case.architecture}")
    text_only = case.known.excludes("gguf+vision")
    if model is not None and model.format == "gguf" and text_only is not None:
        return by_fact(case, text_only, "images")
    named = any(case.args.get(flag) for flag in _PROJECTOR)
    if model is not None and model.format == "gguf" and model.projector is None and not named:
        return Finding(
            verdict=Verdict.CONDITIONAL,
            says="no projector (mmproj) lies beside the GGUF: it takes text only",
            remedy="download the model's mmproj GGUF and name it with --mmproj",
        )
    if model is not None and model.format != "gguf" and not model.vision:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{case.architecture} has no vision tower in its configuration",
            remedy="a multimodal model",
        )
    return judge(case, "vision", "images")


@constraint(
    "feature_missing_audio",
    asks="Can audio be sent?",
    needs="requires.audio, audio tower, fact supports audio",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="a model with an audio tower, or another engine",
)
def feature_missing_audio(case: Case) -> Finding | None:
    if not case.spec.requires.audio:
        return None
    if case.model is not None and not case.model.audio and case.model.format != "gguf":
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{case.architecture} has no audio tower in its configuration",
            remedy="a model that takes audio",
        )
    found = judge(case, "audio", "audio")
    extra = case.known.get("requires", "extra:audio")
    if found.verdict is not Verdict.FEASIBLE or extra is None:
        return found
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[extra],
        says=f"audio in {case.engine} {case.version or ''}: {extra.condition}",
        remedy=f"install {extra.value} beside it",
    )


def _no_score_head(case: Case) -> Finding | None:
    """A reranker that was published as a generative class scores by the words yes and no: the
    engine has to be told to make a classifier of it."""
    fact = case.known.excludes("rerank+generative")
    told = case.args.get("hf_overrides")
    generative = (case.architecture or "").endswith("ForCausalLM")
    if fact is None or told or not generative or not asks_for(case, "rerank"):
        return None
    return by_fact(case, fact, f"scores of {case.architecture}", verdict=Verdict.CONDITIONAL)


@constraint(
    "feature_missing_embeddings",
    asks="Does the engine give embeddings (and the model make them)?",
    needs="requires.embeddings, model, fact supports embeddings",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another engine",
)
def feature_missing_embeddings(case: Case) -> Finding | None:
    if not (case.spec.requires.embeddings or asks_for(case, "embed") or asks_for(case, "rerank")):
        return None
    if (unset := _no_score_head(case)) is not None:
        return unset
    fact = case.known.excludes("embeddings+unpooled")
    made_for_it = case.loaded is None or case.loaded.embedding or case.form != "gguf"
    if fact is None or made_for_it:
        fact = case.known.excludes("embeddings+generative")
        made_for_it = not (case.architecture or "").endswith("ForCausalLM")
    if fact is not None and not made_for_it:
        what = f"embeddings of {case.architecture}"
        return by_fact(case, fact, what, remedy=_INSTEAD["embeddings"])
    found = judge(case, "embeddings", "embeddings")
    # a class that only encodes is served for it without being told, but for llama-server
    encodes = case.loaded is not None and case.loaded.encoder_only and case.engine != "llama.cpp"
    return found if not encodes or found.verdict is not Verdict.CONDITIONAL else None


@constraint(
    "metrics_missing",
    asks="Does the engine expose the metrics that the platform scrapes?",
    needs="platform.metrics, facts metric, supports metrics",
    verdicts=("infeasible",),
    remedy="an exporter beside it, or another engine",
)
def metrics_missing(case: Case) -> Finding | None:
    if not case.spec.platform.metrics:
        return None
    fact = case.known.supports("metrics")
    if fact is not None and fact.value in ("no", False):
        return Finding(
            verdict=Verdict.INFEASIBLE,
            facts=[fact],
            says=f"{case.engine} exposes no {case.spec.platform.metrics} metrics "
            f"({fact.condition or ''})",
            remedy="an exporter or gateway that counts for it, or another engine",
        )
    listed = case.known.all("metric")
    if listed:
        return Finding(
            verdict=Verdict.FEASIBLE, facts=listed[:1], says=f"{len(listed)} metrics are exposed"
        )
    return None
