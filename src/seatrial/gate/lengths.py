"""Constraints on length: what the model was made for, what flags, slots and defaults allow."""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint


@constraint(
    "context_exceeds_model",
    asks="Was the model made for the required context?",
    needs="requires.context_tokens, max_position_embeddings, rope scaling",
    verdicts=("infeasible", "conditional"),
    remedy="RoPE scaling with a quality check, a long-context model, a shorter context",
)
def context_exceeds_model(case: Case) -> Finding | None:
    need = case.spec.requires.context_tokens
    have = case.model.shape.max_positions if case.model else None
    if not need or not have or need <= have:
        return None
    numbers = {"context_tokens": need, "max_positions": have}
    if need <= 4 * have and not (case.model and case.model.encoder_only):
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers=dict(numbers),
            says=f"{need} tokens are asked, the model was made for {have}",
            remedy=f"RoPE scaling (YaRN) by {need / have:.2g} and a task check at that "
            "length, or a long-context model",
            probe=case.probe("task"),
        )
    return Finding(
        verdict=Verdict.INFEASIBLE,
        numbers=dict(numbers),
        says=f"{need} tokens are asked, the model was made for {have}",
        remedy=f"a model with long context, or at most {have} tokens",
    )


@constraint(
    "context_limit_set",
    asks="Do the candidate's own flags allow the required context?",
    needs="requires.context_tokens, max_model_len and its like",
    verdicts=("conditional",),
    remedy="raise the flag",
)
def context_limit_set(case: Case) -> Finding | None:
    need, own = case.context, case.set.length
    if not need or not own or own >= need or case.engine in {"llama.cpp", "ollama"}:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"context_tokens": need, "limit": own},
        says=f"the flags allow {own} tokens, {need} are needed",
        remedy=f"raise the length limit to {need}",
    )


@constraint(
    "slots_divide_context",
    asks="Is the context that was asked for the context of one request?",
    needs="llama.cpp -c and -np, longest request",
    verdicts=("conditional",),
    remedy="-c = slots x longest request, or --kv-unified with a per-slot cap, or fewer slots",
)
def slots_divide_context(case: Case) -> Finding | None:
    if case.engine != "llama.cpp":
        return None
    total, need = case.set.context_total, case.context
    slots = case.set.slots or 1
    if not total or not need:
        return None
    fact = case.known.excludes("context+parallel_slots")
    each = total if case.set.unified_kv else total // slots
    numbers = {"ctx_size": total, "slots": slots, "per_slot": each, "needed": need}
    facts = [fact] if fact else []
    if each >= need:
        return Finding(
            verdict=Verdict.FEASIBLE,
            numbers=dict(numbers),
            facts=facts,
            says=f"{slots} slots of {each} tokens hold the longest request of {need}",
        )
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers=dict(numbers),
        facts=facts,
        says=f"the context is the total: {slots} slots of {each} tokens; a request of {need} is "
        f"refused although {total} were asked for",
        remedy=f"-c {slots * need} (slots x longest request), or --kv-unified with a per-slot cap, "
        "or fewer slots",
    )


@constraint(
    "context_default",
    asks="Does the engine's default context hold the longest request?",
    needs="longest request, OLLAMA_CONTEXT_LENGTH or num_ctx",
    verdicts=("conditional",),
    remedy="set the context explicitly",
)
def context_default(case: Case) -> Finding | None:
    if case.engine != "ollama" or case.set.length or not case.context:
        return None
    fact = case.known.get("default", "OLLAMA_CONTEXT_LENGTH")
    default = fact.value if fact and isinstance(fact.value, int) else 4096
    if case.context <= default:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact] if fact else [],
        numbers={"default": default, "needed": case.context},
        says=f"Ollama's default context is {default} tokens on small cards and longer prompts are "
        f"cut without an error; {case.context} are needed",
        remedy=f"OLLAMA_CONTEXT_LENGTH={case.context} (or num_ctx), and its cache in memory",
    )
