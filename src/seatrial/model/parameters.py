"""Parameters of a model from its dimensions, for checkpoints of which only config.json is here.

The formulas are those of the published layer equations (attention with q, k, v, o; gated
feed-forward of three matrices; a router and n experts; MLA's low-rank pairs), so for common
families they give the checkpoint's count exactly. Where a family's details are not known the
result says so with ``exact=False`` and a wider spread.
"""

from __future__ import annotations

from seatrial.model.bounded import Keys
from seatrial.model.info import Parameters, Shape
from seatrial.model.layers import layer_kinds, state_group

_EXACT = {
    "llama",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen3_vl_text",
    "qwen3_vl_moe_text",
    "phi3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "deepseek_v2",
    "deepseek_v3",
    "kimi_k2",
    "gpt_oss",
    "falcon",
    "smollm3",
    "olmo2",
    "glm4_moe",
    "qwen3_next",
    "qwen3_5_text",
    "qwen3_5_moe_text",
    "nemotron_h",
    "jamba",
}
GATED = {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}
"""Attention whose query projection also makes an output gate (transformers modeling files)."""
_TWO_MATRICES = {
    "falcon",
    "RefinedWebModel",
    "RefinedWeb",
    "gpt2",
    "gpt_bigcode",
    "starcoder2",
    "phi",
    "nemotron",
    "nemotron_h",
    "mpt",
    "bloom",
    "opt",
    "bert",
    "roberta",
    "xlm-roberta",
}
_SHARED_GATE = {"qwen2_moe", "qwen3_next", "qwen3_5_moe_text"}
"""A gate of one output before the shared expert."""
_ROUTER_BIAS = {"deepseek_v3", "kimi_k2", "glm4_moe"}
"""Routers with a correction bias per expert (e_score_correction_bias)."""
_FOUR_NORMS = {"gemma2", "gemma3_text", "gemma3"}


def estimate(keys: Keys, shape: Shape, outer: Keys) -> Parameters | None:
    """Counts for a configuration; null if a needed dimension is missing.

    Args:
        keys: of the language model. outer: the whole configuration (for towers).
    """
    hidden, layers, vocabulary = shape.hidden, shape.layers, shape.vocabulary
    if not hidden or not layers or not vocabulary:
        return None
    family = keys.text("model_type") or ""
    kinds = layer_kinds(keys, layers)
    linear = experts = other = heads = 0
    attention, norms = _attention(keys, shape, family)
    for number, kind in enumerate(kinds or ["full"] * layers):
        if kind in {"state", "both"}:
            matrices, vectors = _mixer(keys, shape)
            linear += matrices
            other += vectors
        if kind not in {"state", "mlp"}:
            linear += attention
            heads += attention
            other += norms
        if _has_feed_forward(keys, kind):
            dense, routed, small = _feed_forward(keys, shape, number, family)
            linear += dense + routed
            experts += routed
            other += small
        other += _norms_per_layer(keys, family) * hidden
    other += hidden * (2 if family == "falcon" else 1)  # the last norm, with its bias
    copies = 1 if shape.tied_embeddings else 2
    draft = _draft(keys, shape, attention + norms, family)
    tower = _tower(outer)
    exact = family in _EXACT and kinds is not None
    return Parameters(
        linear=linear,
        experts=experts,
        embedding=copies * vocabulary * hidden,
        other=other,
        tower=tower,
        draft=draft,
        exact=exact,
        attention=heads,
    )


def _norms_per_layer(keys: Keys, family: str) -> int:
    if "hybrid_override_pattern" in keys:
        return 1
    if family == "falcon":
        return 2 if not keys.flag("new_decoder_architecture") else 4
    return 4 if family in _FOUR_NORMS else 2


def _attention(keys: Keys, shape: Shape, family: str) -> tuple[int, int]:
    """(matrix elements, small vectors) of one attention layer."""
    hidden, heads = shape.hidden or 0, shape.heads or 0
    rank = keys.integer("kv_lora_rank")
    if rank:
        return _latent(keys, hidden, heads, rank)
    kv, dim = shape.kv_heads or heads, shape.head_dim or 0
    matrices = hidden * heads * dim * 2 + 2 * hidden * kv * dim
    small = 0
    if family in {"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl"} or (
        keys.flag("attention_bias", "qkv_bias") and family != "gpt_oss"
    ):
        small += heads * dim + 2 * kv * dim
    if family == "gpt_oss":
        small += heads * dim + 2 * kv * dim + hidden + heads
    if family == "olmo2":  # norms over all heads at once
        small += (heads + kv) * dim
    elif family.startswith(("qwen3", "gemma3")) or keys.flag("use_qk_norm"):
        small += 2 * dim
    if keys.flag("attn_output_gate") or family in GATED:
        matrices += hidden * heads * dim
    return matrices, small


def _latent(keys: Keys, hidden: int, heads: int, rank: int) -> tuple[int, int]:
    rope = keys.integer("qk_rope_head_dim") or 0
    nope = keys.integer("qk_nope_head_dim") or 0
    value = keys.integer("v_head_dim") or nope
    low = keys.integer("q_lora_rank")
    query = heads * (nope + rope)
    matrices = hidden * low + low * query if low else hidden * query
    matrices += hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden
    if index := keys.integer("index_head_dim"):
        count = keys.integer("index_n_heads") or 1
        matrices += (low or hidden) * count * index + hidden * index + hidden * count
    return matrices, rank + (low or 0)


def _mixer(keys: Keys, shape: Shape) -> tuple[int, int]:
    """(projections, small vectors) of a recurrent layer."""
    hidden = shape.hidden or 0
    if values := keys.integer("linear_num_value_heads"):
        return _delta_net(keys, hidden, values)
    if (heads := keys.integer("mamba_num_heads")) and (width := keys.integer("mamba_head_dim")):
        return _mamba2(keys, hidden, heads, heads * width)
    group = state_group(keys, shape, 1)
    if group is None or not group.conv_elements:
        return 4 * hidden * hidden, 0
    kernel = keys.integer("conv_kernel", "mamba_d_conv", "d_conv") or 4
    channels = group.conv_elements // max(kernel - 1, 1)
    inner = keys.integer("mamba_intermediate_size") or channels
    if keys.text("model_type") == "jamba":
        return _mamba1(keys, hidden, inner, kernel)
    return hidden * (channels + inner) + inner * hidden, 0


def _delta_net(keys: Keys, hidden: int, values: int) -> tuple[int, int]:
    """Gated DeltaNet: in (q, k, v, z, b, a), convolution, A, dt, norm, out
    (transformers modeling_qwen3_next.py)."""
    dk = keys.integer("linear_key_head_dim") or 0
    dv = keys.integer("linear_value_head_dim") or dk
    inner = values * dv
    both = 2 * (keys.integer("linear_num_key_heads") or values) * dk
    kernel = keys.integer("linear_conv_kernel_dim") or 4
    matrices = hidden * (both + 2 * inner + 2 * values) + inner * hidden
    return matrices, kernel * (both + inner) + 2 * values + dv


def _mamba1(keys: Keys, hidden: int, inner: int, kernel: int) -> tuple[int, int]:
    """Mamba-1 as Jamba has it: in (x, z), x to dt, B and C, dt, out; convolution with bias, dt's
    bias, A, D, and three norms (transformers modeling_jamba.py)."""
    states = keys.integer("mamba_d_state") or 16
    rank = keys.integer("mamba_dt_rank") or -(-hidden // 16)
    matrices = 2 * hidden * inner + inner * (rank + 2 * states) + rank * inner + inner * hidden
    return matrices, inner * (kernel + 1) + inner * (states + 2) + rank + 2 * states


def _mamba2(keys: Keys, hidden: int, heads: int, inner: int) -> tuple[int, int]:
    """Mamba-2: in (z, x, B, C, dt), convolution with bias, A, D, dt, norm, out
    (transformers modeling_nemotron_h.py)."""
    states = (keys.integer("ssm_state_size") or 128) * (keys.integer("n_groups") or 1)
    channels = inner + 2 * states
    kernel = keys.integer("conv_kernel") or 4
    matrices = hidden * (inner + channels + heads) + inner * hidden
    return matrices, channels * (kernel + 1) + 3 * heads + inner


def _has_feed_forward(keys: Keys, kind: str) -> bool:
    if "hybrid_override_pattern" in keys:
        return kind == "mlp"
    return (keys.text("model_type") or "") not in {"mamba", "mamba2", "falcon_mamba"}


def _feed_forward(keys: Keys, shape: Shape, number: int, family: str) -> tuple[int, int, int]:
    """(dense matrices, routed experts' matrices, small vectors) of layer ``number``."""
    hidden, wide = shape.hidden or 0, shape.intermediate or 0
    wide = wide // 2 if family == "qwen" else wide  # Qwen 1 writes both halves of the gate
    matrices = 2 if family in _TWO_MATRICES else 3
    if not shape.experts or _is_dense(keys, shape, number):
        bias = hidden + wide if family in {"gpt2", "gpt_bigcode", "starcoder2", "phi"} else 0
        return matrices * hidden * wide, 0, bias
    width = shape.expert_intermediate or wide
    routed = shape.experts * matrices * hidden * width
    small = hidden * shape.experts
    if family in _ROUTER_BIAS or keys.text("topk_method") == "noaux_tc":
        small += shape.experts
    if family == "gpt_oss":
        small += shape.experts * (1 + 2 * width + hidden)
    shared = matrices * hidden * (shape.shared_expert_intermediate or 0)
    if shape.shared_expert_intermediate and family in _SHARED_GATE:
        small += hidden
    return shared, routed, small


def _is_dense(keys: Keys, shape: Shape, number: int) -> bool:
    layers = shape.layers or 0
    if "hybrid_override_pattern" in keys:
        return (keys.text("hybrid_override_pattern") or "")[number : number + 1] == "-"
    if first := keys.integer("first_k_dense_replace", "num_dense_layers"):
        return number < min(first, layers)
    if only := keys.items("mlp_only_layers"):
        return number in only
    if period := keys.integer("expert_layer_period"):
        return number % period != (keys.integer("expert_layer_offset") or 0)
    step = keys.integer("decoder_sparse_step", "interleave_moe_layer_step") or 1
    return step > 1 and (number + 1) % step != 0


def _draft(keys: Keys, shape: Shape, attention: int, family: str) -> int:
    """Multi-token prediction: decoder layers, a projection of two states to one, three norms, and
    an input table and a head of its own (the tensors of DeepSeek-V3's and GLM-4.5's last layer)."""
    if not shape.draft_layers:
        return 0
    hidden, layers = shape.hidden or 0, shape.layers or 1
    dense, routed, small = _feed_forward(keys, shape, layers, family)
    tables = 2 * (shape.vocabulary or 0) * hidden
    layer = attention + dense + routed + small + 2 * hidden * hidden + 5 * hidden
    return shape.draft_layers * (layer + tables)


def _tower(outer: Keys) -> int:
    """A vision or audio encoder as a plain transformer: 4*h*h + 2*h*i per layer."""
    total = 0
    for name in ("vision_config", "audio_config", "visual", "audio_tower"):
        part = outer.section(name)
        if part is None:
            continue
        # Qwen2-VL's hidden_size is the width of what leaves the encoder, embed_dim its own
        names = ("embed_dim", "hidden_size", "width", "d_model")
        wide = part.integer(*names, high=1 << 20) or 0
        deep = part.integer("num_hidden_layers", "layers", "depth", "encoder_layers", high=4096)
        inner = part.integer("intermediate_size", "mlp_dim", "encoder_ffn_dim", high=1 << 22)
        total += (deep or 0) * (4 * wide * wide + 2 * wide * (inner or 4 * wide))
    return total
