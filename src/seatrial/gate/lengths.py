"""Constraints on length: what the model was made for, what flags, slots and defaults allow."""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate import scaling
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.pool import SPLIT_FROM, at_least, may_split


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
    if have and (over := _flag_over_model(case, have)) is not None and (not need or need <= have):
        return over
    if not need or not have or need <= have:
        return None
    if (longer := _stretched(case, need, have)) is not None:
        return longer
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


def _stretched(case: Case, need: int, have: int) -> Finding | None:
    """RoPE scaling in the flags: enough for the need, and heeded by this release or not."""
    longer = scaling.stretched(case)
    if longer is None or longer < need:
        return None
    numbers = {"context_tokens": need, "max_positions": have, "stretched_to": longer}
    if (cap := scaling.capped(case)) is not None and "override_kv" not in case.args:
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers=dict(numbers),
            facts=[cap],
            says=f"RoPE scaling to {longer} tokens is asked, the model was made for {have}: "
            f"{cap.condition}",
            remedy=str(cap.detail["remedy"]),
        )
    return Finding(
        verdict=Verdict.FEASIBLE,
        numbers=dict(numbers),
        says=f"RoPE scaling in the flags stretches {have} tokens to {longer}; check the task there",
        probe=case.probe("task"),
    )


_LENGTHENS = ("rope_scaling", "rope_theta", "hf_overrides", "json_model_override_args")
_ALLOWS = ("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN")


def _rescaled(case: Case) -> bool:
    return case.model is not None and any(t.startswith("rope:") for t in case.model.traits)


def _flag_over_model(case: Case, have: int) -> Finding | None:
    """vLLM and SGLang refuse a length limit above the one the configuration gives ("greater than
    the derived"), unless a variable allows it. Where rotary scaling is set the engines derive
    it in ways of their own."""
    own, args = case.set.length, {k.replace("-", "_") for k in case.candidate.args}
    if case.engine not in {"vllm", "sglang"} or not case.stored_plainly or not own:
        return None
    if own <= have or any(n in args for n in _LENGTHENS) or _rescaled(case):
        return None
    if any(n in case.candidate.env for n in _ALLOWS):
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"limit": own, "max_positions": have},
        says=f"the flag asks for {own} tokens, the configuration gives {have}: start-up refuses it",
        remedy=f"a length limit of at most {have}",
    )


@constraint(
    "context_limit_set",
    asks="Do the candidate's own flags allow the required context?",
    needs="requires.context_tokens, max_model_len and its like",
    verdicts=("conditional",),
    remedy="raise the flag",
)
def context_limit_set(case: Case) -> Finding | None:
    need, own = case.context, case.set.length or scaling.own_length(case)
    if (whole := _prompt_in_one(case) or _unsplit(case) or _fitting_unknown(case)) is not None:
        return whole
    if not need or not own or own >= need or case.engine == "llama.cpp":
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"context_tokens": need, "limit": own},
        says=f"the flags allow {own} tokens, {need} are needed",
        remedy=f"raise the length limit to {need}",
    )


def _prompt_in_one(case: Case) -> Finding | None:
    """TensorRT-LLM runs a prompt in one step unless it may split it: it may then not be longer
    than max_num_tokens, whatever the length limit."""
    fact = case.known.get("default", "max_num_tokens") if case.engine == "tensorrt-llm" else None
    if fact is None or not case.context or not case.written or case.form == "tensorrt-engine":
        return None
    if case.set.chunked:
        return None
    most = case.set.batched_tokens or int(fact.value)
    if case.context <= most:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"context_tokens": case.context, "max_num_tokens": most},
        facts=[fact],
        says=f"a prompt runs in one step of at most {most} tokens (max_num_tokens), "
        f"{case.context} are needed",
        remedy=f"enable_chunked_prefill, or max_num_tokens {case.context}",
    )


def _unsplit(case: Case) -> Finding | None:
    """vLLM with prompts that are not split refuses a budget below the length limit. The first core
    split some by itself, the second all of them until 0.12 made the flag a choice again
    (SchedulerConfig, verify_max_model_len)."""
    own = case.model.shape.max_positions if case.model else None
    length, most = case.set.length or own, case.set.batched_tokens
    if case.engine != "vllm" or not length or not most or most >= length or fitted(case):
        return None
    first, second = not at_least(case, "0.8.0"), at_least(case, "0.12.0")
    by_itself = second or (length > SPLIT_FROM and at_least(case, "0.5.3") and may_split(case))
    if not (first or second) or case.set.chunked or (case.set.chunked is None and by_itself):
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"max_num_batched_tokens": most, "limit": length},
        says=f"prompts are not split here and max_num_batched_tokens {most} is below the length "
        f"of {length}: start-up refuses it",
        remedy=f"--enable-chunked-prefill, or --max-num-batched-tokens {length}",
    )


def fitted(case: Case) -> bool:
    """Whether vLLM itself looks for the longest context that fits."""
    return case.known.excludes("max_model_len+auto") is None and _asks_to_fit(case)


def _asks_to_fit(case: Case) -> bool:
    return case.engine == "vllm" and str(case.args.get("max_model_len")) in {"auto", "-1"}


def _fitting_unknown(case: Case) -> Finding | None:
    fact = case.known.excludes("max_model_len+auto") if _asks_to_fit(case) else None
    if fact is None:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact],
        says=f"max_model_len {case.args['max_model_len']}: {fact.condition}",
        remedy=str(fact.detail["remedy"]),
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
    need, slots = case.context, case.set.slots or 1
    total, default = _total_context(case)
    if not total or not need or (not case.set.context_total and slots == 1):
        return None
    fact = case.known.excludes("context+parallel_slots")
    each = total if case.set.unified_kv else total // slots
    numbers = {"ctx_size": total, "slots": slots, "per_slot": each, "needed": need}
    facts = [f for f in (fact, default) if f]
    if (shared := _shared_cells(case, total)) is not None:
        return shared
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
        + (
            f"refused although {total} were asked for"
            if case.set.context_total
            else f"refused: no ctx-size is given, the default total is {total}"
        ),
        remedy=f"-c {slots * need} (slots x longest request), or --kv-unified with a per-slot cap, "
        "or fewer slots",
    )


def _shared_cells(case: Case, total: int) -> Finding | None:
    """Slots that share one cache: each may take the whole of it, not all of them at once."""
    count = case.spec.requires.concurrency or 1
    slots = case.known.get("default", "n_parallel") if case.set.slots is None else None
    alone = slots is not None and isinstance(slots.value, int) and slots.value > 1
    if not case.context or count * case.context <= total or not (alone or case.set.unified_kv):
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"ctx_size": total, "sequences": count, "needed": count * case.context},
        facts=[slots] if slots else [],
        says=f"the slots share {total} cells, {count} requests of {case.context} tokens need "
        f"{count * case.context}: what finds no cell ends with an error",
        remedy=f"-c {count * case.context}, or fewer slots",
    )


def _total_context(case: Case) -> tuple[int | None, Fact | None]:
    """llama.cpp's total context, and the fact of its default: the flag, else the default of that
    build (0: the model's own), else at most the model's own."""
    if case.set.context_total:
        return case.set.context_total, None
    own = case.model.shape.max_positions if case.model else None
    if case.set.context_total == 0:
        return own, None
    fact = case.known.get("default", "ctx_size")
    if fact is not None and isinstance(fact.value, int) and fact.value > 0:
        return min(fact.value, own or fact.value), fact
    return own, fact


@constraint(
    "context_default",
    asks="Does the engine's default context hold the longest request?",
    needs="longest request, OLLAMA_CONTEXT_LENGTH or num_ctx, llama.cpp -c",
    verdicts=("conditional",),
    remedy="set the context explicitly",
)
def context_default(case: Case) -> Finding | None:
    if case.engine == "llama.cpp":
        return _unset_context(case)
    if case.engine != "ollama" or case.set.length or not case.context:
        return None
    fact = case.known.get("default", "OLLAMA_CONTEXT_LENGTH")
    default = ollama_default(case)
    if case.context <= default:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact] if fact else [],
        numbers={"default": default, "needed": case.context},
        says=f"Ollama's default context is {default} tokens here and longer prompts are cut "
        f"without an error; {case.context} are needed",
        remedy=f"OLLAMA_CONTEXT_LENGTH={case.context} (or num_ctx), and its cache in memory",
    )


def ollama_default(case: Case) -> int:
    """Tokens that Ollama takes where no context is named."""
    fact = case.known.get("default", "OLLAMA_CONTEXT_LENGTH")
    found = _by_memory(case, fact) if fact and isinstance(fact.value, int) else 4096
    own = case.known.get("default", "OLLAMA_CONTEXT_LENGTH:family")  # more for these, if it fits
    if own is None or case.architecture not in own.detail.get("families", []):
        return found
    return max(found, _by_memory(case, own))


def _by_memory(case: Case, fact: Fact) -> int:
    """The default of a version that takes it from the device memory: the smallest where that is
    not known (``detail.by_gib``: from so many GiB on, so many tokens)."""
    gpu = case.target.gpu
    gib = gpu.memory_bytes * case.target.devices / (1 << 30) if gpu else 0.0
    steps = fact.detail.get("by_gib", [])
    return max(int(fact.value), *(int(tokens) for least, tokens in steps if gib >= least), 0)


def _unset_context(case: Case) -> Finding | None:
    """llama.cpp without a ctx-size: for long its default was smaller than most models'."""
    fact = case.known.get("default", "ctx_size")
    if case.set.context_total is not None or not case.context or fact is None:
        return None
    if not isinstance(fact.value, int) or not 0 < fact.value < case.context:
        return None
    if (case.set.slots or 1) > 1:  # said by slots_divide_context
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        facts=[fact],
        numbers={"default": fact.value, "needed": case.context},
        says=f"without -c the context of this build is {fact.value} tokens; {case.context} are "
        "needed",
        remedy=f"-c {case.context}, or -c 0 for the model's own, and its cache in memory",
    )
