"""Constraints of combination: each works alone, together they do not."""

from __future__ import annotations

from collections.abc import Callable

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact, constraint
from seatrial.gate.contracts import on_pytorch
from seatrial.gate.registry import class_names


def _found(case: Case, subject: str) -> tuple[Fact, bool] | None:
    """The exclusion, and whether it holds for this version."""
    for fact, holds in case.known.history("excludes"):
        if fact.subject == subject:
            return fact, holds
    return None


def _judge(case: Case, subject: str, both: str, remedy: str, live: str | None) -> Finding | None:
    """Refused at configuration or silently ignored is ``infeasible``; what only a request shows
    is ``unknown`` with its probe; what ended in a later version asks for a test;
    a speculative method that the refusal leaves out is allowed."""
    found = _found(case, subject)
    if found is None:
        return None
    fact, holds = found
    if holds and fact.value == "ended":
        return None
    says = f"{both}: {fact.condition or fact.value}"
    if holds and (case.speculative or "") in fact.detail.get("but", []):
        return Finding(verdict=Verdict.FEASIBLE, says=says, facts=[fact])
    remedy = str(fact.detail.get("remedy") or remedy)
    if holds and (fact.value in _SHOWN or (fact.value == "refuses" and live is None)):
        mends = _by_flag_only(case, subject) or _other_layer(case, subject)
        verdict = Verdict.CONDITIONAL if mends else Verdict.INFEASIBLE
        return Finding(verdict=verdict, says=says, facts=[fact], remedy=remedy)
    if not holds:
        says += f" before {fact.until}; {case.version} is not shown to be free of it"
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=says,
        facts=[fact],
        remedy=remedy,
        probe=case.probe(live or "boot_log"),
    )


_SHOWN = ("ignored", "fails")


def _radix_is_on(case: Case) -> bool:
    """SGLang keeps its prefix cache unless a flag ends it: beside adapters it was refused."""
    return case.engine == "sglang" and case.args.get("disable_radix_cache") is not True


def _by_flag_only(case: Case, subject: str) -> bool:
    """Whether speculation or the prefix cache stands in the flags alone: nobody asks for it,
    leaving it out mends."""
    if subject == "lora+prefix_cache":
        return not case.spec.requires.prefix_cache
    return "speculative" in subject and not case.spec.requires.speculative


def _other_layer(case: Case, subject: str) -> bool:
    """LMDeploy: what TurboMind lacks and the PyTorch engine serves on this GPU."""
    feature, _, layer = subject.partition("+")
    return layer == "turbomind" and on_pytorch(case, feature) is not None


def _not_shown(case: Case, both: str, remedy: str) -> Finding:
    """No fact speaks of a combination that often fails: it is asked, not passed."""
    return Finding(
        verdict=Verdict.UNKNOWN,
        probe=case.probe("boot_log"),
        says=f"{both} is not verified for {case.engine} {case.version or ''}",
        remedy=remedy,
    )


@constraint(
    "feature_conflict_pp_specdec",
    asks="Pipeline parallelism together with speculative decoding?",
    needs="PP, speculative, fact excludes pipeline_parallel+speculative",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="drop one of the two, or TP over both nodes with RDMA",
)
def feature_conflict_pp_specdec(case: Case) -> Finding | None:
    if case.pp < 2 or not case.speculative:
        return None
    both = f"PP {case.pp} with speculative decoding ({case.speculative})"
    remedy = "drop one of the two; TP over both nodes with RDMA"
    found = _judge(case, "pipeline_parallel+speculative", both, remedy, None)
    return found or _not_shown(case, both, remedy)


@constraint(
    "feature_conflict_structured_specdec",
    asks="Structured output together with speculative decoding?",
    needs="structured output, speculative, fact excludes structured_output+speculative",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="test schema validity under speculative decoding; disable one; a newer version",
)
def feature_conflict_structured_specdec(case: Case) -> Finding | None:
    if not case.speculative or not case.spec.requires.structured_output:
        return None
    found = _judge(
        case,
        "structured_output+speculative",
        "structured output with speculation",
        "test schema validity under speculative decoding; disable one; newer version",
        "structured_output",
    )
    return found or Finding(
        verdict=Verdict.UNKNOWN,
        probe=case.probe("structured_output"),
        says="structured output together with speculative decoding is not verified for "
        f"{case.engine} {case.version or ''}",
        remedy="test schema validity under speculative decoding, or disable one",
    )


@constraint(
    "feature_conflict_reasoning_structured",
    asks="Structured output from a model that thinks?",
    needs="structured output, thinking template or reasoning parser, engine's parser flag",
    verdicts=("infeasible", "unknown"),
    remedy="set the reasoning parser and test think x schema x stream",
)
def feature_conflict_reasoning_structured(case: Case) -> Finding | None:
    asked = case.spec.requires
    thinks = bool(asked.reasoning_parser) or (case.model is not None and case.model.thinking)
    if not asked.structured_output or not thinks:
        return None
    refused = case.known.excludes("structured_output+reasoning")
    if refused is not None and refused.value == "refuses":
        return by_fact(case, refused, "JSON schema and thinking")
    found = _found(case, "structured_output+reasoning_without_parser")
    parser = case.set.reasoning_parser or (
        asked.reasoning_parser if isinstance(asked.reasoning_parser, str) else None
    )
    facts = [found[0]] if found else []
    what = (
        "without a reasoning parser the grammar applies from the first token and thinking is "
        "suppressed silently"
        if parser is None
        else f"with parser {parser} the schema must bind the answer and not the thinking"
    )
    return Finding(
        verdict=Verdict.UNKNOWN,
        facts=facts,
        probe=case.probe("structured_output"),
        says=f"JSON schema and thinking in {case.engine}: {what}",
        remedy=("set --reasoning-parser for the model, then " if parser is None else "")
        + "test (think on/off) x schema x stream: schema valid, reasoning not empty",
    )


@constraint(
    "feature_conflict_lora_specdec",
    asks="LoRA together with EAGLE or another speculative method?",
    needs="LoRA, speculative, fact excludes lora+speculative",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="drop one of the two, or merged adapters",
)
def feature_conflict_lora_specdec(case: Case) -> Finding | None:
    if not case.speculative or not (case.spec.requires.lora or case.set.lora):
        return None
    found = _judge(
        case,
        "lora+speculative",
        "LoRA with speculative decoding",
        "drop one of the two, or merge the adapter",
        None,
    )
    return found or Finding(
        verdict=Verdict.UNKNOWN,
        probe=case.probe("boot_log"),
        says=f"LoRA with speculative decoding is not verified for {case.engine} "
        f"{case.version or ''}",
        remedy="drop one of the two, or merge the adapter",
    )


def _plain(id: str, subject: str, asks: str, remedy: str, when: Callable[[Case], object]) -> None:
    """Declare a combination that one fact decides."""

    @constraint(
        id,
        asks=asks,
        needs=f"fact excludes {subject}",
        verdicts=("infeasible", "conditional", "unknown"),
        remedy=remedy,
    )
    def rule(case: Case) -> Finding | None:
        if not when(case):
            return None
        return _judge(case, subject, asks.rstrip("?"), remedy, None)


_plain(
    "feature_conflict_lora_prefix",
    "lora+prefix_cache",
    "Prefix reuse together with LoRA?",
    "switch one of the two off",
    lambda c: (
        (c.spec.requires.prefix_cache or _radix_is_on(c)) and (c.spec.requires.lora or c.set.lora)
    ),
)
_plain(
    "feature_conflict_pd_backend",
    "pd_disaggregation+turbomind",
    "Prefill and decode apart on this backend?",
    "backend: pytorch",
    lambda c: c.spec.requires.pd_disaggregation,
)
_plain(
    "feature_conflict_lora_backend",
    "lora+turbomind",
    "LoRA on this backend?",
    "backend: pytorch",
    lambda c: c.spec.requires.lora or c.set.lora,
)
_plain(
    "feature_conflict_lora_pd",
    "lora+pd_disaggregation",
    "LoRA with prefill and decode apart?",
    "one of the two",
    lambda c: c.spec.requires.lora and c.spec.requires.pd_disaggregation,
)


@constraint(
    "structured_output_unenforced",
    asks="Is the schema enforced, or only accepted?",
    needs="structured output, class, fact excludes structured_output+no_backend",
    verdicts=("infeasible", "conditional"),
    remedy="configure the grammar backend",
)
def structured_output_unenforced(case: Case) -> Finding | None:
    if not case.spec.requires.structured_output:
        return None
    for name in class_names(case, case.architecture or ""):
        if (broken := case.known.excludes(f"structured_output+{name}")) is not None:
            return by_fact(case, broken, f"a schema with {name}")
    fact = case.known.excludes("structured_output+no_backend")
    if fact is None or case.candidate.args.get("guided_decoding_backend"):
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact],
        says=f"{fact.condition}",
        remedy=str(fact.detail.get("remedy") or "name the grammar backend by its flag"),
        probe=case.probe("structured_output"),
    )
