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
from seatrial.gate import lengths, offload
from seatrial.gate.case import Case, Numbers
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.pool import (
    PIECE,
    SPLIT_FROM,
    Pool,
    at_least,
    beside_weights,
    compiled_chunk,
    may_split,
    pool,
    splits_prompts,
)
from seatrial.gate.topology import divides
from seatrial.model import ModelInfo, memory
from seatrial.model.memory import Band


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
    if (peak := _while_loading(case, found)) is not None:
        return peak
    if (stuck := _not_offloaded(case, found, numbers)) is not None:
        return stuck
    if found.room.upper <= 0:
        says = (
            f"weights of {whole} a device (TP {case.tp} x PP {case.pp}) leave no room on {where} "
            f"at a share of {found.share}"
        )
        wide = pool(case, generous=True)
        if wide is not None and wide.room.upper > 0 and _cache_never(case, wide):
            return None  # flags may make room for the weights, never for the cache: that binds
        return _free(case, says, numbers, _at_least(case), _more_devices(case, found))
    if found.room.lower <= 0:
        return _near(case, found, f"weights of {whole} a device nearly fill {where}")
    if away := offload.on_host(case):
        return Finding(
            verdict=Verdict.DEGRADED,
            numbers=numbers | {"offload_gib": away},
            says=f"up to {away:g} GiB of weights a device stay in the host's memory "
            "and cross the bus in every pass",
            remedy="more devices or a smaller format, if speed matters",
            probe=case.probe("boot_log"),
        )
    return Finding(
        verdict=Verdict.FEASIBLE,
        numbers=numbers,
        says=f"weights of {whole} a device leave {_span(found.room)} for the cache on {where}",
    )


def _while_loading(case: Case, found: Pool) -> Finding | None:
    """FP8 made from a 16-bit checkpoint: the whole of it is on the device first (vLLM
    documentation, FP8, online dynamic quantization). Later vLLM may do it layer by layer."""
    if case.in_flight != "fp8" or case.model is None:
        return None
    band = memory.weight_bytes(case.model)
    if band is None or band.lower / (case.tp * case.pp) <= found.total:
        return None
    later = case.engine == "vllm" and at_least(case, "0.12.0")
    size = format_bytes(int(band.best / (case.tp * case.pp)))
    return Finding(
        verdict=Verdict.UNKNOWN if later else Verdict.INFEASIBLE,
        numbers=_numbers(found),
        says=f"the checkpoint is loaded in 16 bits first: {size} a device, "
        f"there are {format_bytes(found.total)}",
        remedy="a checkpoint that is stored in FP8",
        probe=case.probe("boot_log") if later else None,
    )


def _not_offloaded(case: Case, found: Pool, numbers: Numbers) -> Finding | None:
    """A flag that asks for weights on the host and is refused, or has no effect."""
    refused, ignored = offload.refused(case), offload.ignored(case)
    fact = refused or ignored
    if fact is None or (ignored and found.room.lower > 0):
        return None
    flag = f"cpu_offload_gb {offload.asked(case):g}"
    if refused is None:
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers=numbers,
            facts=[fact],
            says=f"{flag} has no effect: {fact.condition}; {format_bytes(found.weights.best)} of "
            f"weights a device on {format_bytes(found.total)}",
            remedy=case.variable_lifts(fact)[1] or "leave the flag out",
        )
    holds = found.room.best > 0
    return Finding(
        verdict=Verdict.CONDITIONAL if holds else Verdict.INFEASIBLE,
        numbers=numbers,
        facts=[fact],
        says=f"{flag} is refused: {fact.condition}"
        + ("" if holds else ", and without it the weights leave no room for the cache"),
        remedy=str(fact.detail["remedy"]) if holds else f"{fact.until} or later, or more devices",
    )


def _cache_never(case: Case, wide: Pool) -> bool:
    """Whether the required sequences fit no pool that flags could make."""
    length = case.set.length or case.context
    one = need_per_sequence(case, length) if length else None
    many = need_per_sequence(case, case.traffic_mean or length or 0) if length else None
    count = -(-(case.spec.requires.concurrency or 0) // (case.set.dp * case.set.attention_dp))
    least = max(one.lower if one else 0, many.lower * count if many else 0)
    return least > wide.room.upper


def _at_least(case: Case) -> Band:
    """Cache for one sequence of the context, or of 1024 tokens where none is asked."""
    length = case.set.length or case.context or 1024
    need = need_per_sequence(case, length)
    return need or Band(lower=0, best=0, upper=0)


def _by_flags(case: Case, says: str, numbers: Numbers, need: Band) -> Finding | None:
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
    return None


def _free(case: Case, says: str, numbers: Numbers, need: Band, remedy: str) -> Finding:
    """What does not fit as the candidate is written: a change of flags or of placement that
    surely makes the room is a condition, one that only may is named in the remedy."""
    by_flags = _by_flags(case, says, numbers, need)
    if by_flags is not None:
        return by_flags
    wider = _by_wider_group(case, says, numbers)
    if wider is not None:
        return wider
    wide = pool(case, generous=True)
    flags = _flags(case, wide) if wide is not None and wide.room.upper >= need.lower else ""
    if flags:
        remedy = f"{remedy}; {flags} may be enough"
    return Finding(verdict=Verdict.INFEASIBLE, numbers=numbers, says=says, remedy=remedy)


def _by_wider_group(case: Case, says: str, numbers: Numbers) -> Finding | None:
    """Devices that the stated placement leaves idle: a larger TP over them that surely holds
    weights and cache."""
    spare = case.target.count // max(case.pp * case.set.dp, 1)
    if not case.set.tp_stated or case.pooled or case.set.attention_dp > 1:
        return None
    for tp in (2, 4, 8, 16):
        if not case.tp < tp <= spare or not divides(case, tp):
            continue
        other = case.with_tp(tp)
        found, need = pool(other), _at_least(other)
        if found is not None and found.room.lower > need.upper:
            return Finding(
                verdict=Verdict.CONDITIONAL,
                numbers=numbers | {"tp": tp},
                says=f"{says}; {case.target.count} devices are there",
                remedy=f"TP {tp} over {tp} of the {case.target.count} devices",
            )
    return None


def _flags(case: Case, wide: Pool) -> str:
    """The flags of the generous pool in the engine's own spelling."""
    if (compiled_chunk(case) or 0) > PIECE:
        return f"prefill_chunk_size {PIECE} (gen_config and compile again)"
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
    if case.set.batched_tokens is None:
        flag = "--max-num-batched-tokens" if vllm else "--chunked-prefill-size"
        words.append(f"{flag} {PIECE}")
    if vllm and not splits_prompts(case) and may_split(case):
        words.append("--enable-chunked-prefill")
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


def _numbers(found: Pool) -> Numbers:
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
    options = [f"TP x PP of {need}"] if case.tp * case.pp < need < 1024 else []
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
    if (whole := _default_length(case, found)) is not None:
        yield whole
    if (beside := _beside_weights(case, found)) is not None:
        yield beside
    if length is None or (offload.ignored(case) and found.room.lower <= 0):
        return  # what memory_weights says of the flag binds
    need = need_per_sequence(case, length)
    if need is None:
        return
    yield _compare(case, found, need, length, 1)
    copies = case.set.dp * case.set.attention_dp
    count = -(-(case.spec.requires.concurrency or 0) // copies)
    if count > 1:
        per = case.traffic_mean or case.context or length
        many = need_per_sequence(case, per)
        if many is not None:
            scaled = Band(
                lower=many.lower * count, best=many.best * count, upper=many.upper * count
            )
            yield _compare(case, found, scaled, per, count)


def _beside_weights(case: Case, found: Pool) -> Finding | None:
    """A cache that is a share of the whole memory and does not fit beside the weights."""
    used = found.weights.lower + found.activation.lower + found.other.lower
    if not beside_weights(case) or int(found.share * found.total) + used <= found.total:
        return None
    free = (found.total - used) / found.total
    fact = case.known.get("default", "cache_share")
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers=_numbers(found),
        facts=[fact] if fact else [],
        says=f"the cache is {found.share:g} of the whole {format_bytes(found.total)} in this "
        f"release, weights of {format_bytes(found.weights.best)} do not fit beside it",
        remedy=f"--cache-max-entry-count {max(int(free * 8) / 10, 0.1):g}",
    )


def need_per_sequence(case: Case, tokens: int) -> Band | None:
    """Cache bytes of one sequence on one rank; null for a cache type that is not known."""
    model = cached_model(case)
    element = memory.kv_element_bytes(case.spec.requires.kv_cache_dtype or case.set.kv_dtype)
    if model is None or element is None:
        return None
    tp, pp = case.attention_tp, case.pp
    frees = frees_windows(case)
    tight = memory.kv_bytes(
        model, tokens, element_bytes=element, tp=tp, pp=pp, windows=frees is not False
    )
    full = memory.kv_bytes(
        model, tokens, element_bytes=element, tp=tp, pp=pp, block=16, windows=frees is True
    )
    best = tight if frees is not False else full
    return Band(lower=tight, best=best, upper=max(full, tight))


def cached_model(case: Case) -> ModelInfo | None:
    """The model as the engine caches it. vLLM before 0.7.1 kept a latent as full heads, padded
    to 256 (its release notes: "10x more memory capacity"): 13,360 tokens of DeepSeek-V2 on eight
    80 GB devices (deepseek-ai/DeepSeek-V2#83), where the latent would hold far more."""
    model = case.loaded
    if model is None or not any(g.kind == "latent" for g in model.cache):
        return model
    if case.engine == "vllm" and not at_least(case, "0.7.1"):
        heads, key, value = model.shape.heads or 1, 256, 256
    elif (unfolded := _latent_of_llama_cpp(case, model)) is not None:
        heads, key, value = unfolded
    else:
        return model
    cache = [
        msgspec.structs.replace(g, kind="full", heads=heads, key_dim=key, value_dim=value)
        if g.kind == "latent"
        else g
        for g in model.cache
    ]
    return msgspec.structs.replace(model, cache=cache)


def _latent_of_llama_cpp(case: Case, model: ModelInfo) -> tuple[int, int, int] | None:
    """(heads, key, value) of what llama.cpp caches of a latent, by build: all heads at first, of
    192 and 128 elements in every model of this kind (DeepSeek-V2 and V3, 40960 a layer in the
    latter), then the latent as key and as value, now the latent alone (the fact names the
    changes)."""
    fact = case.known.excludes("latent_cache") if case.engine == "llama.cpp" else None
    latent = next((g for g in model.cache if g.kind == "latent"), None)
    if fact is None or latent is None or case.version is None:
        return None
    if fact.value == "whole heads":
        return model.shape.heads or 1, 192, 128
    return 1, latent.key_dim, max(latent.key_dim - 64, 1)


def frees_windows(case: Case) -> bool | None:
    """Whether the engine gives back what has left a sliding window: vLLM's hybrid manager since
    0.10, llama.cpp's and Ollama's separate caches since the release that the fact names; null
    where it is not known."""
    if case.engine == "vllm" and case.version:
        return order.key(case.version) >= order.key("0.10.0")
    if case.engine not in {"llama.cpp", "ollama"}:
        return None
    fact = case.known.excludes("sliding_window+freed_cache")
    if case.version and fact is not None:
        return None if fact.value == "unknown" else False
    return not case.args.get("swa_full")


def _fitting(case: Case, room: int) -> int:
    """Longest single sequence that fits in this much cache on this placement."""
    model = cached_model(case)
    if model is None:
        return 0
    element = memory.kv_element_bytes(case.spec.requires.kv_cache_dtype or case.set.kv_dtype)
    return memory.fitting_tokens(
        model, max(room, 0), tp=case.attention_tp, pp=case.pp, element_bytes=element or 2.0
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
        return _free(case, says, numbers, need, _less_cache(case, found, need))
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


def _default_length(case: Case, found: Pool) -> Finding | None:
    """No length limit is set: vLLM takes the model's own, and refuses to start where one such
    sequence does not fit ("larger than the maximum number of tokens that can be stored")."""
    longest = case.loaded.shape.max_positions if case.loaded else None
    need = need_per_sequence(case, longest) if longest else None
    asked = case.context
    if need is None or longest is None or case.set.length or case.engine != "vllm":
        return None
    if lengths.fitted(case):
        return None  # the engine takes what fits
    if asked is not None and not case.written:
        return None
    if not at_least(case, "0.2.7") or found.room.lower <= 0:
        return None  # nothing was asked then; or the weights themselves bind
    sure = found.room.upper if asked is not None else found.room.lower
    if not at_least(case, "0.8.0"):
        # A prompt of that length is profiled whole, and the best estimate is too high there: 229
        # blocks of 16 tokens were left of a 13B on 32 GB, it says 261 (vllm-project/vllm#2418)
        split = at_least(case, "0.5.3") and may_split(case)
        piece = min(longest, SPLIT_FROM) if split else longest
        whole = pool(case.with_args(max_model_len=piece)) or found
        sure = whole.room.lower
    if need.lower <= sure:
        return None
    fits = _fitting(case, found.room.lower)
    if asked is not None and fits < asked:
        return None  # the length that is needed does not surely fit either: that binds
    return Finding(
        verdict=Verdict.CONDITIONAL if fits >= 1024 else Verdict.UNKNOWN,
        numbers=_numbers(found)
        | {"needed_bytes": need.best, "tokens": longest, "fits_tokens": fits},
        says=f"the model's own length of {longest} tokens needs {format_bytes(need.best)} of "
        f"cache, the pool is {_span(found.room)}: start-up refuses it by default",
        remedy=f"--max-model-len {asked or fits // 256 * 256}"
        if fits >= 1024
        else "name the context needed",
        probe=None if fits >= 1024 else case.probe("pool_size"),
    )
