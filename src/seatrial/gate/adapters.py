"""What adapters ask of a model beyond the class: limits that the engine's wrappers have."""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact


def over_vocabulary(case: Case) -> Finding | None:
    """vLLM wraps the logits of classes whose head may be adapted, for vocabularies up to a limit
    of its kernels, whatever the adapter holds."""
    fact = case.known.get("lora_limit", "vocabulary")
    words = case.model.shape.vocabulary if case.model else None
    if fact is None or words is None or words <= fact.value:
        return None
    if case.architecture not in fact.detail.get("classes", []):
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        numbers={"vocabulary": words, "limit": fact.value},
        facts=[fact],
        says=f"adapters on a vocabulary of {words} in {case.engine} {case.version or ''}: "
        f"{fact.condition}",
        remedy=f"{case.engine} {fact.until} or later, or the adapter merged into the weights"
        if fact.until
        else "the adapter merged into the weights",
    )


def gated_query(case: Case) -> Finding | None:
    """SGLang sizes adapters by one formula, unless the class gives its own: a query projection
    that also makes an output gate is twice as wide."""
    fact = case.known.excludes("lora+gated-attention")
    gated = case.model is not None and "gated-attention" in case.model.traits
    if fact is None or not gated or case.architecture in fact.detail.get("but", []):
        return None
    merge = "merge the adapters into the weights, or vLLM"
    return by_fact(case, fact, f"adapters on {case.architecture}", remedy=merge)
