"""Memory arithmetic: weights, KV cache, recurrent state, in exact bytes.

    weights      sum over tensors of elements * bits / 8
    KV, T tokens sum over layer groups:
                   full, latent, indexer   layers * elements_per_token * b * T
                   sliding                 layers * elements_per_token * b * min(T, window)
                   state                   layers * (recurrent * 4 + conv * b_conv), once
                   shared, cross           nothing per token

Every formula and where it comes from: docs/method/memory.md. Per rank of a tensor-parallel group
KV heads are divided, and repeated when there are fewer heads than ranks; a latent has no heads
to divide and is kept whole on every rank.
"""

from __future__ import annotations

import math

import msgspec

from seatrial.model.gguf_types import FILE_BITS, bits_per_weight
from seatrial.model.info import CacheGroup, ModelInfo
from seatrial.model.unconverted import unconverted

KV_BYTES: dict[str, float] = {
    "auto": 2.0,
    "bf16": 2.0,
    "bfloat16": 2.0,
    "f16": 2.0,
    "fp16": 2.0,
    "float16": 2.0,
    "f32": 4.0,
    "fp8": 1.0,
    "fp8_e4m3": 1.0,
    "fp8_e5m2": 1.0,
    "fp8_inc": 1.0,
    "fp8_ds_mla": 656 / 576,
    "int8": 1.0,
    "8": 1.0,
    "4": 0.5,
    "int4": 0.5,
    "nvfp4": 0.5625,
    "fp4_e2m1": 0.5625,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}
"""Bytes per cache element by the engines' spelling (vLLM CacheDType, llama.cpp cache types)."""

RECURRENT_BYTES = 4


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity that is not known to the byte: lower bound, best estimate, upper bound."""

    lower: int
    best: int
    upper: int

    def scaled(self, low: float, high: float) -> Band:
        """The band with its ends moved by factors."""
        return Band(lower=int(self.lower * low), best=self.best, upper=int(self.upper * high))


def kv_element_bytes(dtype: str | None) -> float | None:
    """Bytes per cache element; null for a dtype that is not known."""
    return KV_BYTES.get((dtype or "auto").lower())


def kv_bytes_per_token(model: ModelInfo, *, element_bytes: float = 2.0, tokens: int = 1) -> int:
    """Bytes that the ``tokens``-th token adds to one sequence (windows full stop growing)."""
    grown = kv_bytes(model, tokens, element_bytes=element_bytes)
    return grown - kv_bytes(model, tokens - 1, element_bytes=element_bytes)


def kv_bytes(
    model: ModelInfo,
    tokens: int,
    *,
    element_bytes: float = 2.0,
    tp: int = 1,
    pp: int = 1,
    block: int = 1,
    windows: bool = True,
    conv_bytes: int = 2,
) -> int:
    """Cache bytes of one sequence on one rank.

    Args:
        tokens: length of the sequence. element_bytes: of one cache element.
        tp, pp: ranks that share heads, and that share layers (the fullest stage counts).
        block: tokens are rounded up to whole blocks. windows: whether the engine frees what has
            left a sliding window. conv_bytes: of one convolution-state element.
    """
    total = sum(
        _group_bytes(g, tokens, element_bytes, tp, block, windows, conv_bytes) for g in model.cache
    )
    return math.ceil(total * stage_share(model, pp))


def _group_bytes(
    group: CacheGroup, tokens: int, element: float, tp: int, block: int, windows: bool, conv: int
) -> float:
    if group.kind in {"shared", "cross"}:
        return 0.0
    if group.kind == "state":
        if tokens <= 0:
            return 0.0
        return group.layers * layer_state(group, conv_bytes=conv) / tp
    kept = tokens
    if group.kind == "sliding" and windows and group.window:
        kept = min(tokens, group.window)
    kept = -(-kept // block) * block
    heads = group.heads
    if group.kind not in {"latent", "indexer"}:
        heads = max(1, -(-group.heads // tp)) if group.heads else 0
    return group.layers * heads * (group.key_dim + group.value_dim) * element * kept


def stage_share(model: ModelInfo, pp: int) -> float:
    """Share of the layers on the fullest of ``pp`` pipeline stages."""
    layers = model.shape.layers or 0
    if pp <= 1 or not layers:
        return 1.0
    return -(-layers // pp) / layers


def layer_state(
    group: CacheGroup, *, recurrent_bytes: int = RECURRENT_BYTES, conv_bytes: int = 2
) -> int:
    """Recurrent and convolution state of one sequence in one layer, not cut."""
    return group.recurrent_elements * recurrent_bytes + group.conv_elements * conv_bytes


def state_bytes(
    model: ModelInfo,
    *,
    tp: int = 1,
    pp: int = 1,
    recurrent_bytes: int = RECURRENT_BYTES,
    conv_bytes: int = 2,
) -> int:
    """Recurrent and convolution state of one sequence on one rank (the fullest stage's)."""
    total = sum(
        g.layers * layer_state(g, recurrent_bytes=recurrent_bytes, conv_bytes=conv_bytes)
        for g in model.cache
        if g.kind == "state"
    )
    return math.ceil(total / tp * stage_share(model, pp))


def weight_bits(recipe: str, default: float = 16.0) -> float:
    """Bits per weight of a whole file made with this recipe (Q4_K_M, F16, w4a16, fp8, ...)."""
    name = recipe.upper()
    if name in FILE_BITS:
        return FILE_BITS[name]
    return bits_per_weight(name) or default


def weight_bytes(model: ModelInfo, *, draft: bool = False) -> Band | None:
    """Bytes of weights once loaded: from the tensors where they are seen, else from dimensions.

    float32 checkpoints are loaded in 16 bits by every engine here; draft layers only if asked.
    """
    if model.tensors:
        exact = loaded_tensor_bytes(model, draft=draft)
        return Band(lower=exact, best=exact, upper=int(exact * 1.02))
    count = model.parameters
    if count is None:
        return None
    best = _quantized_bytes(model, draft=draft)
    spread = 0.01 if count.exact else 0.10
    spread = spread if model.cache_known else 0.15
    less = 0.002 if count.exact and model.cache_known else spread  # a loader only adds to a count
    tower = count.tower  # 2 bytes each, known to a half
    return Band(
        lower=int(best * (1 - less)) - tower, best=best, upper=int(best * (1.02 + spread)) + tower
    )


def loaded_tensor_bytes(model: ModelInfo, *, draft: bool = False) -> int:
    """Sum over tensors, without draft layers, float32 counted as 16 bits (not in GGUF)."""
    total = 0
    for tensor in model.tensors:
        if not draft and is_draft(tensor.name, model.shape.layers):
            continue
        half = tensor.dtype == "F32" and model.format == "safetensors"
        total += tensor.bytes // 2 if half else tensor.bytes
    return total


def is_draft(name: str, layers: int | None) -> bool:
    """Multi-token prediction heads: ``mtp.`` or a decoder layer beyond the last."""
    if name.startswith(("mtp.", "model.mtp")):
        return True
    head, _, rest = name.partition("layers.")
    number = rest.partition(".")[0]
    return bool(layers and head == "model." and number.isdigit() and int(number) >= layers)


def _quantized_bytes(model: ModelInfo, *, draft: bool) -> int:
    count = model.parameters
    assert count is not None
    linear = count.linear + (count.draft if draft else 0)
    quant = model.quantization
    plain = (count.embedding + count.other + count.tower) * 2
    if quant is None:
        return linear * 2 + plain
    if quant.method == "mlx" or quant.method == "mlc":
        return int((linear + count.embedding) * quant.bits / 8) + (count.other + count.tower) * 2
    if quant.scheme == "mxfp4" and count.experts:  # only the experts are stored in four bits
        return int(count.experts * 4.25 / 8) + (linear - count.experts) * 2 + plain
    if quant.expert_bits and count.experts:
        linear -= count.experts
        plain += int(count.experts * quant.expert_bits / 8)
    whole = min(unconverted(model), linear)
    return int((linear - whole) * effective_bits(model) / 8) + whole * 2 + plain


def effective_bits(model: ModelInfo) -> float:
    """Bits per quantised weight with its scales: a group adds 16 bits of scale and, if
    asymmetric, ``bits`` of zero point; a two-dimensional block adds a float32."""
    quant = model.quantization
    if quant is None:
        return 16.0
    bits = quant.bits
    if quant.scheme in {"nvfp4", "mxfp4", "mxfp8"} or quant.method in {"gguf", "mlx", "mlc"}:
        return bits
    if quant.group_size:
        bits += (16 + (0 if quant.symmetric and quant.method != "awq" else quant.bits)) / (
            quant.group_size
        )
    if quant.block:
        bits += 32 / (quant.block[0] * quant.block[1])
    return bits


def active_weight_bytes(model: ModelInfo) -> int | None:
    """Bytes read for one token of one sequence: all but the experts that are not chosen, and
    of the input table only one row. A lower bound for the traffic of a decode step."""
    band = weight_bytes(model)
    count = model.parameters
    if band is None:
        return None
    if count is None or not count.total:
        return band.lower
    skipped = 0.0
    experts, chosen = model.shape.experts, model.shape.experts_per_token
    if experts and chosen and chosen < experts:
        skipped += count.experts * (1 - chosen / experts)
    if not model.shape.tied_embeddings:
        skipped += count.embedding / 2
    share = max(0.0, 1 - skipped / count.total)
    return int(band.lower * share)


def fitting_tokens(model: ModelInfo, room: int, **how: float) -> int:
    """Longest single sequence whose cache fits in ``room`` bytes (by bisection)."""
    element = float(how.get("element_bytes", 2.0))
    tp, pp = int(how.get("tp", 1)), int(how.get("pp", 1))
    low, high = 0, 1 << 27
    while low < high:
        middle = (low + high + 1) // 2
        if kv_bytes(model, middle, element_bytes=element, tp=tp, pp=pp) <= room:
            low = middle
        else:
            high = middle - 1
    return low
