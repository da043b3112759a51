"""Constraints of memory: weights, cache at the required context and concurrency, limits of length.

The pool is a bound. Below its lower end a need fits, above its upper end it does not, between
them the answer is "start it once and read the pool size": tools differ by tens of per cent
there, and that is where elimination happens.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from seatrial.core.units import format_bytes
from seatrial.core.verdict import Verdict
from seatrial.facts import version as order
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.pool import Pool, pool
from seatrial.model import memory
from seatrial.model.memory import Band

_HOST_OVERHEAD = 512 << 20


@constraint(
    "memory_weights",
    asks="Do the weights fit?",
    needs="weight bytes, device memory, TP, PP, share of memory",
    verdicts=("infeasible", "degraded", "conditional", "unknown"),
    remedy="more or larger devices, a smaller format, a higher share of memory",
)
def memory_weights(case: Case) -> Finding | None:
    if case.target.on_cpu or case.pooled:
        return None
    found = pool(case)
    if found is None:
        return _not_known(case)
    numbers = _numbers(found)
    whole = format_bytes(found.weights.best)
    where = f"{case.target.gpu_name} ({format_bytes(found.total)})"
    if found.room.upper <= 0:
        says = (
            f"weights of {whole} a device (TP {case.tp} x PP {case.pp}) leave no room on {where} "
            f"at a share of {found.share}"
        )
        return _by_flags(case, says, numbers, _at_least(case)) or Finding(
            verdict=Verdict.INFEASIBLE,
            numbers=numbers,
            says=says,
            remedy=_more_devices(case, found),
        )
    if found.room.lower <= 0:
        return _near(case, found, f"weights of {whole} a device nearly fill {where}")
    return Finding(
        verdict=Verdict.FEASIBLE,
        numbers=numbers,
        says=f"weights of {whole} a device leave {_span(found.room)} for the cache on {where}",
    )


def _at_least(case: Case) -> Band:
    """Cache for one sequence of the context, or of 1024 tokens where none is asked."""
    length = case.set.length or case.context or 1024
    need = need_per_sequence(case, length)
    return need or Band(lower=0, best=0, upper=0)


def _by_flags(
    case: Case, says: str, numbers: dict[str, int | float | str | bool | None], need: Band
) -> Finding | None:
    """Whether flags that the candidate has not set would make the room: a change, not a no."""
    wide = pool(case, generous=True)
    if wide is None or wide.room.upper < need.lower:
        return None
    flags = _flags(case, wide)
    if not flags:
        return None
    numbers = numbers | {"pool_by_flags_bytes": wide.room.best, "needed_bytes": need.best}
    says = f"{says}; with {flags} the pool is {_span(wide.room)}"
    if wide.room.lower >= need.upper:
        return Finding(verdict=Verdict.CONDITIONAL, says=says, numbers=numbers, remedy=flags)
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{says}, needed are {format_bytes(need.best)}: inside the bound",
        numbers=numbers,
        remedy=f"{flags}; or one more device",
        probe=case.probe("pool_size"),
    )


def _flags(case: Case, wide: Pool) -> str:
    """The flags of the generous pool in the engine's own spelling."""
    if case.engine not in {"vllm", "sglang"}:
        return ""
    vllm = case.engine == "vllm"
    words = []
    if case.set.share is None:
        flag = "--gpu-memory-utilization" if vllm else "--mem-fraction-static"
        words.append(f"{flag} {wide.share:g}")
    if case.set.seqs is None:
        flag = "--max-num-seqs" if vllm else "--max-running-requests"
        words.append(f"{flag} {max(case.concurrency or 1, 16)}")
    if case.set.batched_tokens is None and vllm:
        words.append("--max-num-batched-tokens 2048")
    return " ".join(words)


def _not_known(case: Case) -> Finding | None:
    if case.model is None or case.target.gpu is None:
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        probe=case.probe("pool_size"),
        says="neither tensors nor all dimensions of the model are in its files: its "
        "weight bytes are not known",
    )


def _numbers(found: Pool) -> dict[str, int | float | str | bool | None]:
    return {
        "total_bytes": found.total,
        "share": found.share,
        "weights_bytes": found.weights.best,
        "activation_bytes": found.activation.best,
        "pool_lower_bytes": found.room.lower,
        "pool_bytes": found.room.best,
        "pool_upper_bytes": found.room.upper,
    }


def _span(band: Band) -> str:
    low, high = format_bytes(max(band.lower, 0)), format_bytes(max(band.upper, 0))
    return f"{format_bytes(max(band.best, 0))} ({low} to {high})"


def _more_devices(case: Case, found: Pool) -> str:
    """The smallest doubling of TP that would leave room."""
    whole = found.weights.best * case.tp * case.pp
    usable = max(found.share * found.total - found.activation.best, 1)
    need = case.tp * case.pp
    while whole / need > usable * 0.9 and need < 1024:
        need *= 2
    options = [f"TP x PP of {need}"] if need > case.tp * case.pp else []
    if case.quant is None:
        options.append("a quantised checkpoint (FP8 halves, 4-bit quarters the weights)")
    options.append("a GPU with more memory")
    return "; or ".join(options)


def _near(case: Case, found: Pool, says: str, needed: int = 0) -> Finding:
    """Inside the bound: if a higher share settles it, say so; else it takes a start to know."""
    numbers = _numbers(found)
    if needed:
        numbers["needed_bytes"] = needed
    least = Band(lower=needed, best=needed, upper=needed) if needed else _at_least(case)
    by_flags = _by_flags(case, says, numbers, least)
    if by_flags is not None and by_flags.verdict is Verdict.CONDITIONAL:
        return by_flags
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers=numbers,
        probe=case.probe("pool_size"),
        says=f"{says}: inside the bound, the engine's own report decides",
        remedy="a shorter context, a smaller cache type, or one more device",
    )


@constraint(
    "memory_kv_cache",
    asks="Does the cache hold the required context at the required concurrency?",
    needs="cache layout, context, concurrency, pool bound",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="a shorter context, a smaller cache type, more devices, a smaller weight format",
)
def memory_kv_cache(case: Case) -> Iterator[Finding]:
    if case.target.on_cpu or case.pooled or case.loaded is None or case.loaded.encoder_only:
        return
    found = pool(case)
    length = case.set.length or case.context
    if found is None:
        return
    if not case.loaded.cache_known:
        yield Finding(
            verdict=Verdict.UNKNOWN,
            probe=case.probe("pool_size"),
            says="the attention layout of this model is not understood: its cache cannot "
            "be computed",
        )
        return
    if length is None:
        yield from _default_length(case, found)
        return
    need = need_per_sequence(case, length)
    if need is None:
        return
    yield _compare(case, found, need, length, 1)
    count = case.spec.requires.concurrency
    if count and count > 1:
        per = case.traffic_mean or case.context or length
        many = need_per_sequence(case, per)
        if many is not None:
            scaled = Band(
                lower=many.lower * count, best=many.best * count, upper=many.upper * count
            )
            yield _compare(case, found, scaled, per, count)


def need_per_sequence(case: Case, tokens: int) -> Band | None:
    """Cache bytes of one sequence on one rank; null for a cache type that is not known."""
    model = case.loaded
    element = memory.kv_element_bytes(case.spec.requires.kv_cache_dtype or case.set.kv_dtype)
    if model is None or element is None:
        return None
    tp, pp = case.tp, case.pp
    tight = memory.kv_bytes(model, tokens, element_bytes=element, tp=tp, pp=pp)
    frees = frees_windows(case)
    full = memory.kv_bytes(
        model, tokens, element_bytes=element, tp=tp, pp=pp, block=16, windows=frees is True
    )
    best = tight if frees is not False else full
    return Band(lower=tight, best=best, upper=max(full, tight))


def frees_windows(case: Case) -> bool | None:
    """Whether the engine gives back what has left a sliding window: vLLM's hybrid manager since
    0.10, SGLang's and llama.cpp's separate window caches; null where it is not known."""
    if case.engine == "vllm" and case.version:
        return order.key(case.version) >= order.key("0.10.0")
    return True if case.engine in {"llama.cpp", "ollama"} else None


def _fitting(case: Case, room: int) -> int:
    """Longest single sequence that fits in this much cache on this placement."""
    if case.loaded is None:
        return 0
    element = memory.kv_element_bytes(case.spec.requires.kv_cache_dtype or case.set.kv_dtype)
    return memory.fitting_tokens(
        case.loaded, max(room, 0), tp=case.tp, pp=case.pp, element_bytes=element or 2.0
    )


def _compare(case: Case, found: Pool, need: Band, length: int, count: int) -> Finding:
    per = f"{count} sequences of" if count > 1 else "one sequence of"
    says = (
        f"{per} {length} tokens needs {format_bytes(need.best)} of cache a device, the pool is "
        f"{_span(found.room)}"
    )
    numbers = _numbers(found) | {
        "needed_bytes": need.best,
        "tokens": length,
        "sequences": count,
        "fits_tokens": _fitting(case, found.room.best),
    }
    if need.lower > found.room.upper:
        return _by_flags(case, says, numbers, need) or Finding(
            verdict=Verdict.INFEASIBLE,
            numbers=numbers,
            says=says,
            remedy=_less_cache(case, found, need),
        )
    if need.upper <= found.room.lower:
        return Finding(verdict=Verdict.FEASIBLE, numbers=numbers, says=says)
    near = _near(case, found, says, need.upper)
    return msgspec.structs.replace(near, numbers=numbers)


def _less_cache(case: Case, found: Pool, need: Band) -> str:
    options = []
    wide = pool(case, generous=True)
    room = max(found.room.best, wide.room.best if wide else 0, 1)
    element = memory.kv_element_bytes(case.spec.requires.kv_cache_dtype or case.set.kv_dtype) or 2.0
    if element > 1 and need.best / 2 <= room and case.engine in {"vllm", "sglang", "tensorrt-llm"}:
        options.append("an fp8 cache (halves it; check the task)")
    fits = _fitting(case, room)
    if fits:
        options.append(f"a context of at most about {fits} tokens")
    latent = (
        all(g.kind in {"latent", "indexer"} for g in case.loaded.cache) if case.loaded else False
    )
    options.append(
        "PP or more nodes (a latent cache is repeated on every TP rank)"
        if latent
        else "more devices or a smaller weight format"
    )
    return "; or ".join(options)


def _default_length(case: Case, found: Pool) -> Iterator[Finding]:
    """No length is asked for: the engine takes the model's own, which may not fit."""
    longest = case.loaded.shape.max_positions if case.loaded else None
    need = need_per_sequence(case, longest) if longest else None
    if need is None or longest is None or need.upper <= found.room.lower:
        return
    if case.engine not in {"vllm"} or not case.loaded:
        return
    fits = _fitting(case, found.room.lower)
    yield Finding(
        verdict=Verdict.CONDITIONAL if fits >= 1024 else Verdict.UNKNOWN,
        numbers=_numbers(found)
        | {"needed_bytes": need.best, "tokens": longest, "fits_tokens": fits},
        says=f"the model's own length of {longest} tokens needs {format_bytes(need.best)} of "
        f"cache, the pool is {_span(found.room)}: start-up refuses it by default",
        remedy=f"--max-model-len {fits // 256 * 256}"
        if fits >= 1024
        else "name the context needed",
        probe=None if fits >= 1024 else case.probe("pool_size"),
    )


@constraint(
    "memory_pooled",
    asks="Do weights and cache fit the devices, or the host, of an engine that places layers?",
    needs="weight bytes, cache layout, device and host memory",
    verdicts=("infeasible", "degraded", "conditional", "unknown"),
    remedy="a smaller quantisation, a shorter context, fewer slots, more memory",
)
def memory_pooled(case: Case) -> Finding | None:
    if not (case.pooled or case.target.on_cpu) or case.loaded is None:
        return None
    weights = memory.weight_bytes(case.loaded)
    if weights is None:
        return (
            None
            if case.model is None
            else Finding(
                verdict=Verdict.UNKNOWN,
                probe=case.probe("boot_log"),
                says="the weight bytes are not known from the model's files",
            )
        )
    cache = _pooled_cache(case)
    least, most = weights.lower + cache.lower, weights.upper + cache.upper + _HOST_OVERHEAD
    device = _device_bytes(case)
    host = case.target.memory_bytes
    numbers = {
        "weights_bytes": weights.best,
        "cache_bytes": cache.best,
        "device_bytes": device,
        "host_bytes": host,
    }
    says = f"weights {format_bytes(weights.best)} + cache {format_bytes(cache.best)}"
    if case.target.on_cpu:
        return _on_host(case, says, least, most, host, dict(numbers))
    return _on_devices(case, says, least, most, device, host, dict(numbers))


def _pooled_cache(case: Case) -> Band:
    length = case.set.context_total or (case.set.length or case.context or 4096) * max(
        case.set.slots or 1, 1
    )
    slots = max(case.set.slots or 1, 1)
    per = -(-length // slots)
    one = need_per_sequence(case, per)
    if one is None or not case.loaded or not case.loaded.cache_known:
        return Band(lower=0, best=0, upper=0)
    return Band(lower=one.lower * slots, best=one.best * slots, upper=one.upper * slots)


def _device_bytes(case: Case) -> int:
    gpu = case.target.gpu
    return int(gpu.memory_bytes * case.target.devices * 0.97) if gpu else 0


def _on_host(
    case: Case,
    says: str,
    least: int,
    most: int,
    host: int | None,
    numbers: dict[str, int | float | str | bool | None],
) -> Finding:
    if host is None:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{says}; the host's memory is not given",
            numbers=numbers,
            probe=case.probe("describe_hardware"),
        )
    says += f" on {format_bytes(host)} of memory"
    if least > host:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{says}: does not fit",
            numbers=numbers,
            remedy="a smaller quantisation, a shorter context, or more memory",
        )
    if most <= host * 0.95:
        return Finding(verdict=Verdict.FEASIBLE, says=says, numbers=numbers)
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{says}: near the limit",
        numbers=numbers,
        probe=case.probe("boot_log"),
        remedy="a smaller quantisation",
    )


def _on_devices(
    case: Case,
    says: str,
    least: int,
    most: int,
    device: int,
    host: int | None,
    numbers: dict[str, int | float | str | bool | None],
) -> Finding | None:
    if device == 0:
        return None
    says += f" on {format_bytes(device)} of device memory"
    if most <= device:
        return Finding(verdict=Verdict.FEASIBLE, says=says, numbers=numbers)
    smaller = "a smaller quantisation, a shorter context or cache type, or more devices"
    unified = case.target.gpu is not None and case.target.gpu.unified_memory
    if least <= device:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{says}: inside the bound",
            numbers=numbers,
            remedy=smaller,
            probe=case.probe("boot_log"),
        )
    if unified or case.engine == "transformers" or (host is not None and least > device + host):
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{says}: does not fit",
            numbers=numbers,
            remedy=smaller,
        )
    return Finding(
        verdict=Verdict.DEGRADED,
        numbers=numbers,
        remedy=smaller,
        says=f"{says}: layers beyond it run on the processor (offloaded N/M in the log)",
    )


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
