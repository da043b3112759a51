"""The memory that is left for the KV cache on one device, as a bound.

Two kinds of engine: a share of the device's total, less everything (vLLM, SGLang, TGI, MLC-LLM),
or a share of what is free once the weights are in (TensorRT-LLM, LMDeploy):

    of-total   pool = share * total - weights - activation - non_torch
    of-free    pool = share * (total - weights - activation - non_torch)

``activation`` of vLLM's profiling run: the sampler holds about ten float32 copies of
max_num_seqs x vocabulary, and the hidden states of max_num_batched_tokens. The two factors were
fitted on the measured rows of llm-d-planner docs/empirical-vllm-memory-results.md (vLLM 0.11,
H100): 9.558 and 2.56 bytes reproduce the activation column of six models to 0.02 GiB.
Before 0.8 a prompt ran whole: Llama-3.1-8B took 2.07 GiB for 20,000 tokens and 2.99 for 29,000
(vllm-project/vllm#10517), three copies each of the hidden state and of the feed-forward width.
The engine's own report replaces the bound later; both are kept.
"""

from __future__ import annotations

import msgspec

from seatrial.facts import version as order
from seatrial.gate import offload
from seatrial.gate.case import Case
from seatrial.gate.static_share import static_share
from seatrial.model import ModelInfo, memory
from seatrial.model.memory import Band
from seatrial.workload.spec import Lora

GIB = 1 << 30
SAMPLER_COPIES = 9.558
HIDDEN_BYTES = 2.56
GENEROUS_SHARE = 0.95
PIECE = 2048
"""Tokens of one step where prompts are split and nobody says how many: what vLLM took before 0.8
(512 in some releases), and what a candidate may always choose."""
OF_FREE = ("tensorrt-llm", "lmdeploy")
_SHARES = {
    "sglang": 0.88,
    "tensorrt-llm": 0.9,
    "lmdeploy": 0.8,
    "tgi": 1.0,
    "mlc-llm": 0.85,
    "transformers": 1.0,
}


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """Per device, bytes. ``room`` is what remains for the cache; its lower end may be negative."""

    total: int
    share: float
    weights: Band
    activation: Band
    other: Band
    room: Band
    of_free: bool


def pool(case: Case, *, generous: bool = False) -> Pool | None:
    """The bound for one device of the candidate's placement; null if a part is not known.

    ``generous``: what flags could still make of it: the largest usual share, few sequences and
    short chunks (only those that the candidate has not set itself).
    """
    gpu, model = case.target.gpu, case.loaded
    if gpu is None or model is None:
        return None
    weights = rank_weights(case, model)
    if weights is None:
        return None
    total, share = gpu.memory_bytes, share_of(case)
    seqs, tokens = scheduled_tokens(case)
    if generous:
        most = share if case.engine == "mlc-llm" else max(share, GENEROUS_SHARE)
        share = case.set.share or most
        seqs = case.set.seqs or min(seqs, max(case.concurrency or 1, 16))
        if splits_prompts(case) or may_split(case):
            tokens = case.set.batched_tokens or min(tokens, PIECE)
    activation, other = _activation(case, model, seqs, tokens, share), _other(case)
    free = case.engine in OF_FREE
    room = Band(
        lower=_room(total, share, weights.upper + activation.upper + other.upper, free),
        best=_room(total, share, weights.best + activation.best + other.best, free),
        upper=_room(total, share, weights.lower + activation.lower + other.lower, free),
    )
    if beside_weights(case):
        least = total - weights.upper - activation.upper - other.upper
        room = Band(lower=min(least, int(share * total)), best=int(share * total), upper=total)
    return Pool(
        total=total,
        share=share,
        weights=weights,
        activation=activation,
        other=other,
        room=room,
        of_free=free,
    )


def _room(total: int, share: float, used: int, free: bool) -> int:
    return int(share * (total - used)) if free else int(share * total - used)


def share_of(case: Case) -> float:
    """The share of memory the engine takes: its flag, else its default at this version."""
    if case.set.share is not None:
        return case.set.share
    if (static := static_share(case)) is not None:
        return static
    name = "gpu_memory_utilization" if case.engine == "vllm" else "cache_share"
    fact = case.known.get("default", name)
    if case.engine == "vllm":
        return float(fact.value) if fact and isinstance(fact.value, int | float) else 0.9
    if fact is not None and isinstance(fact.value, int | float):
        return float(fact.value)
    return _SHARES.get(case.engine, 0.9)


def beside_weights(case: Case) -> bool:
    """Whether the cache is a share of the whole memory, whatever the weights leave of it: LMDeploy
    0.2.0 and 0.2.1 (InternLM/lmdeploy#1001)."""
    fact = case.known.get("default", "cache_share")
    return fact is not None and fact.detail.get("of") == "total"


def rank_weights(case: Case, model: ModelInfo) -> Band | None:
    """Weights that stay on the fullest rank: what is offloaded to the host apart."""
    band = _rank_weights(case, model)
    away = int(offload.on_host(case) * GIB)
    if band is None or not away:
        return band
    least = (model.parameters.embedding * 2 // case.tp) if model.parameters else 0
    lower, best, upper = (max(n - away, least) for n in (band.lower, band.best, band.upper))
    return Band(lower=lower, best=best, upper=upper)


def _rank_weights(case: Case, model: ModelInfo) -> Band | None:
    """Weights on the fullest rank: cut by TP and PP; norms, routers and latents are repeated."""
    band = memory.weight_bytes(model, draft=_uses_draft(case))
    if band is None:
        return None
    extra = _padding(case, model)
    band = Band(lower=band.lower + extra // 2, best=band.best + extra, upper=band.upper + extra)
    ways, count = case.tp * case.pp, model.parameters
    if ways == 1 and not (case.set.ep and case.set.dp > 1 and count):
        return band
    stage = memory.stage_share(model, case.pp)
    repeated = (count.other * 2) if count else 0
    experts_over_dp = case.set.dp if case.set.ep and count and count.experts else 1
    share = stage / case.tp
    if experts_over_dp > 1 and count:
        part = count.experts / max(count.total, 1)
        share *= 1 - part + part / experts_over_dp
    whole = 0  # attention that every part of a group shared out to requests keeps
    if case.set.attention_dp > 1 and count:
        bits = memory.effective_bits(model)
        whole = int(count.attention * bits / 8 * stage * (1 / case.attention_tp - 1 / case.tp))
    upper_extra = repeated + (count.embedding * 2 if count and case.pp > 1 else 0)
    return Band(
        lower=int(band.lower * share) + whole,
        best=int(band.best * share + repeated * (1 - share)) + whole,
        upper=int(band.upper * share + upper_extra) + whole,
    )


def _padding(case: Case, model: ModelInfo) -> int:
    """vLLM pads MXFP4 expert widths to whole 256: gpt-oss-20b is loaded with 13.47 GiB and its
    tensors have 12.82; one dimension of 2880 becomes 3072 (same measurements as above)."""
    width, count = model.shape.expert_intermediate, model.parameters
    if case.engine != "vllm" or case.quant is None or case.quant.scheme != "mxfp4":
        return 0
    if not width or count is None:
        return 0
    return int(count.experts * case.quant.bits / 8 * (-(-width // 256) * 256 / width - 1))


def _uses_draft(case: Case) -> bool:
    method = case.speculative or ""
    return any(word in method for word in ("mtp", "nextn", "next_n"))


def scheduled_tokens(case: Case) -> tuple[int, int]:
    """(max_num_seqs, max_num_batched_tokens): flags, else vLLM's defaults by device memory
    (vllm 0.33.0 vllm/engine/arg_utils.py, get_batch_defaults: 1024 and 8192 from 70 GiB up, not
    on A100 and GB10; 16384 from 160 GiB). Before 0.8 a prompt was split only above a length, or
    where a flag said so."""
    gpu = case.target.gpu
    small = gpu is None or "a100" in gpu.name or gpu.name == "gb10"
    big = gpu is not None and not small and gpu.memory_bytes >= 70 * GIB
    huge = gpu is not None and gpu.memory_bytes >= 160 * GIB
    seqs = case.set.seqs or (1024 if big and case.engine == "vllm" else 256)
    tokens = case.set.batched_tokens or (16384 if huge else 8192 if big else 2048)
    tokens = compiled_chunk(case) or tokens
    old = case.engine == "vllm" and not at_least(case, "0.8.0")
    if old and case.set.batched_tokens is None:
        seqs = case.set.seqs or 256
        length = max(case.set.length or case.context or PIECE, PIECE)
        tokens = PIECE if splits_prompts(case) or splits_itself(case) else length
    return seqs, tokens


SPLIT_FROM = 32768
"""Above this length vLLM 0.5.3 to 0.7 split prompts by default (vllm-project/vllm#6666,
arg_utils.py): not profiled whole."""


def splits_prompts(case: Case) -> bool:
    """Whether a prompt is surely computed in pieces: always in other engines and in vLLM from 0.8
    on, before it where the flag says so. Above ``SPLIT_FROM`` it did so by itself, and yet
    Llama-3.1-405B left room for 79,392 tokens only (vllm-project/vllm#6746)."""
    if case.engine != "vllm" or at_least(case, "0.8.0"):
        return True
    return case.set.chunked is True


def splits_itself(case: Case) -> bool:
    """Whether a stated length made vLLM before 0.8 split by itself: 35,000 of Llama-3.1-8B took
    0.06 GiB where 29,000 took 2.99 (vllm-project/vllm#10517, 0.6.4)."""
    own = case.set.length or 0
    return own > SPLIT_FROM and at_least(case, "0.6.0") and may_split(case)


def may_split(case: Case) -> bool:
    """Whether a flag could split them before 0.8 (it came with 0.4.1): not of models that see
    (0.6.3 on), not with adapters, speculation or a window (vllm 0.6.3 and 0.7.3 wheels,
    arg_utils.py 936, 1164)."""
    if case.set.chunked is False:
        return False
    model = case.loaded
    sees = model is not None and model.vision and at_least(case, "0.6.3")
    windows = model is not None and any(g.kind == "sliding" for g in model.cache)
    return at_least(case, "0.4.1") and not (sees or windows or case.set.lora or case.speculative)


def at_least(case: Case, version: str) -> bool:
    """Whether the candidate's version is this one or later (true where none is named)."""
    return case.version is None or order.key(case.version) >= order.key(version)


def _activation(case: Case, model: ModelInfo, seqs: int, tokens: int, share: float) -> Band:
    shape, static = model.shape, static_share(case)
    if case.set.share is None and static is not None and share <= static:
        return Band(lower=0, best=0, upper=GIB // 2)  # its default share leaves them room
    if case.engine == "mlc-llm" and compiled_chunk(case):
        return _compiled_buffers(case, model, tokens)
    hidden, vocabulary = shape.hidden or 4096, shape.vocabulary or 128_000
    wide = max(shape.intermediate or 4 * hidden, hidden)
    if shape.experts:
        wide = (shape.expert_intermediate or wide) * max(shape.experts_per_token or 1, 1)
    whole = case.engine == "vllm" and not at_least(case, "0.8.0")  # nothing was compiled
    copies = 3 if whole else 2
    least = tokens * copies * (hidden + wide // case.tp) * 2
    states = int(HIDDEN_BYTES * tokens * hidden)
    sampler = int(SAMPLER_COPIES * seqs * vocabulary * 4)
    if case.engine not in {"vllm"}:
        sampler = int(2 * seqs * vocabulary * 4 / case.tp)
    elif whole and tokens < (case.set.length or 0):
        sampler = int(3 * seqs * vocabulary * 4)
    states += _encoder_profile(case, model, seqs)
    best = max(sampler + states, least)
    upper = max(int((sampler + states) * 1.15), least * (11 if whole else 15) // 10)
    measured = case.engine == "vllm" and not model.vision and at_least(case, "0.8.0")
    lower = int(0.75 * (sampler + states)) if measured else 0
    low = least * 9 // 10 if whole else least
    return Band(lower=min(best, max(low, lower)), best=best, upper=upper)


def compiled_chunk(case: Case) -> int | None:
    """Tokens of one step that an MLC library is compiled for: the flag, else the folder."""
    if case.engine != "mlc-llm" or case.loaded is None:
        return None
    stated = case.args.get("prefill_chunk_size")
    if isinstance(stated, int) and stated > 0:
        return stated
    built = case.loaded.trait("chunk")
    return int(built) if built else None


def _compiled_buffers(case: Case, model: ModelInfo, chunk: int) -> Band:
    """MLC-LLM plans its buffers when it compiles, float32 logits of every token of a chunk among
    them: 21.85 GB of Qwen1.5-1.8B at 32768 (mlc-ai/mlc-llm#2239), this says 20.9."""
    shape = model.shape
    hidden = shape.hidden or 4096
    layer = 2 * (shape.intermediate or 4 * hidden) // case.tp + 2 * hidden
    best = chunk * (4 * (shape.vocabulary or 128_000) + 2 * layer)
    return Band(lower=best * 9 // 10, best=best, upper=best * 11 // 10)


def _encoder_profile(case: Case, model: ModelInfo, seqs: int) -> int:
    """vLLM's first engine core, which ran encoder-decoders until 0.10.2, profiled an encoder input
    for every sequence at once: two copies each of the feed-forward and the hidden states, 9.2 GiB
    of whisper-large-v3-turbo at 256 (vllm-project/vllm#15216: 12 GB do not hold it)."""
    if case.engine != "vllm" or at_least(case, "0.10.2"):
        return 0
    source, shape = model.trait("source"), model.shape
    if source is None:  # of 256 images of Llama-3.2 (#10569): pixels [256, 1, 1, 4, ...]
        return seqs * int(model.trait("image") or 0)
    width = 2 * (shape.intermediate or 0) + 2 * (shape.hidden or 0)
    return seqs * int(source) * width * 2


def _other(case: Case) -> Band:
    """CUDA context, communication buffers, adapters. non_torch was 0.13 GiB at TP 1 and 0.54 at
    TP 2 in the same measurements. Graphs are captured after the cache is sized, outside the
    share, except in vLLM from 0.21, which subtracts an estimate: counted in the upper end."""
    best = int((0.13 if case.tp * case.pp == 1 else 0.54) * GIB)
    adapters = adapter_bytes(case)
    counted = case.engine == "vllm" and not case.set.eager and at_least(case, "0.21.0")
    graphs = int(1.5 * GIB) if counted else int(0.25 * GIB)
    least = 0.4 if case.tp * case.pp > 1 else 0.1
    if case.engine == "vllm" and case.set.ep and case.set.dp > 1:  # experts over all copies: their
        best += int(1.5 * GIB)  # exchange buffers; 5 GiB less than computed without, between the
        graphs += int(4 * GIB)  # 48.66 and the 53.6 of vllm-project/recipes#12 (eight H20)
    return Band(lower=int(least * GIB), best=best + adapters // 2, upper=best + graphs + adapters)


def adapter_bytes(case: Case) -> int:
    """LoRA slots: rank * (in + out) per adapted matrix and layer, 2 bytes, times the slots."""
    asked = case.spec.requires.lora
    model = case.model
    if not asked or model is None or not model.shape.hidden or not model.shape.layers:
        return 0
    wanted = asked if isinstance(asked, Lora) else Lora()
    rank, slots = wanted.max_rank, case.set.lora_count or wanted.max_adapters
    shape = model.shape
    hidden, wide = model.shape.hidden, shape.intermediate or 0
    q = (shape.heads or 0) * (shape.head_dim or 0)
    kv = (shape.kv_heads or 0) * (shape.head_dim or 0)
    both = (hidden + q) * 2 + (hidden + kv) * 2 + (hidden + wide) * 3
    return int(rank * both * (shape.layers or 0) * 2 * slots / case.tp)
