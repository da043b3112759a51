"""Which layers keep which attention state, from a configuration.

Three ways of saying it are in use: an explicit list per layer (``layer_types``,
``hybrid_override_pattern``, ``attn_type_list``), a period (every n-th layer is full attention),
or one kind for all. Where none of them is understood the answer is "not known", never a guess.
"""

from __future__ import annotations

from collections import Counter

from seatrial.model.bounded import Keys, damaged
from seatrial.model.info import CacheGroup, Shape

MAX_LAYERS = 2048
_FULL = {"full_attention", "attention", "global_attention", "full", "global", "softmax_attention"}
_SLIDING = {"sliding_attention", "sliding", "local_attention", "local", "sliding_window_attention"}
_CHUNKED = {"chunked_attention"}
_STATE = {
    "linear_attention",
    "mamba",
    "mamba2",
    "recurrent",
    "conv",
    "short_conv",
    "kimi_linear_attention",
    "gated_deltanet",
    "lightning_attention",
}
_PERIOD_SLIDING = {
    "gemma2": 2,
    "gemma3": 6,
    "gemma3_text": 6,
    "gemma3n": 5,
    "gemma3n_text": 5,
    "gemma4": 6,
    "gemma4_text": 6,
    "cohere2": 4,
    "gpt_oss": 2,
    "olmo3": 4,
    "exaone4": 4,
}
"""Every n-th layer is global (transformers' configuration classes' own defaults)."""


def layer_kinds(keys: Keys, layers: int) -> list[str] | None:
    """One word per layer: full, sliding, chunked, state, mlp; null if not understood."""
    if layers > MAX_LAYERS:
        raise damaged(keys.path, f"{layers} layers")
    listed = keys.texts("layer_types") or keys.texts("layers_block_type")
    if listed:
        return _from_words(listed, layers)
    if pattern := keys.text("hybrid_override_pattern"):
        return _from_letters(pattern)
    if flags := keys.items("hybrid_layer_pattern") or keys.items("sliding_window_layers"):
        return ["sliding" if f in (1, True) else "full" for f in flags[:layers]]
    if flags := keys.items("attn_type_list"):
        return ["full" if f in (1, "full", "softmax") else "state" for f in flags[:layers]]
    if linear := keys.section("linear_attn_config"):
        return _from_numbers(linear, layers)
    return _from_period(keys, layers)


def _from_words(words: list[str], layers: int) -> list[str] | None:
    kinds = []
    for word in words[:layers]:
        if word in _FULL:
            kinds.append("full")
        elif word in _SLIDING:
            kinds.append("sliding")
        elif word in _CHUNKED:
            kinds.append("chunked")
        elif word in _STATE or word.startswith("mamba"):
            kinds.append("state")
        elif word in {"mlp", "moe", "dense"}:
            kinds.append("mlp")
        elif word == "hybrid":
            kinds.append("both")
        else:
            return None
    return kinds if len(kinds) == layers else None


def _from_letters(pattern: str) -> list[str] | None:
    """Nemotron-H: M is Mamba-2, * is attention, - is a plain and E an expert feed-forward."""
    words = {"M": "state", "*": "full", "-": "mlp", "E": "mlp", "|": ""}
    if any(letter not in words for letter in pattern):
        return None
    return [words[letter] for letter in pattern if words[letter]]


def _from_numbers(linear: Keys, layers: int) -> list[str] | None:
    """Kimi Linear: one-based numbers of the full-attention layers."""
    full = linear.items("full_attn_layers")
    if full is None:
        return None
    return ["full" if n in full else "state" for n in range(1, layers + 1)]


def _from_period(keys: Keys, layers: int) -> list[str] | None:
    if period := keys.integer("full_attention_interval", high=MAX_LAYERS):
        return ["full" if (n + 1) % period == 0 else "state" for n in range(layers)]
    if period := keys.integer("attn_layer_period", high=MAX_LAYERS):
        offset = keys.integer("attn_layer_offset") or 0
        return ["full" if n % period == offset else "state" for n in range(layers)]
    if (attn := keys.items("attn_layer_indices")) is not None:
        return ["full" if n in attn else "state" for n in range(layers)]
    if "no_rope_layers" in keys and keys.integer("attention_chunk_size"):
        marks = keys.items("no_rope_layers") or []
        return ["chunked" if (marks[n : n + 1] or [1])[0] else "full" for n in range(layers)]
    model_type = keys.text("model_type") or ""
    period = keys.integer("sliding_window_pattern", "_sliding_window_pattern", high=MAX_LAYERS)
    if period is None and keys.integer("sliding_window"):
        period = _PERIOD_SLIDING.get(model_type)
    if period:
        return ["full" if (n + 1) % period == 0 else "sliding" for n in range(layers)]
    if model_type in {"mamba", "mamba2", "falcon_mamba", "rwkv"}:
        return ["state"] * layers
    return _uniform(keys, layers, model_type)


def _uniform(keys: Keys, layers: int, model_type: str) -> list[str] | None:
    """One kind for all; ``use_sliding_window`` is off by default where the key exists (Qwen2)."""
    if "compress_ratios" in keys or "compression_ratios" in keys:
        return None
    window = keys.integer("sliding_window")
    if not window or keys.flag("use_sliding_window") is False:
        return ["full"] * layers
    if model_type.startswith(("qwen2", "qwen3")):
        if not keys.flag("use_sliding_window"):
            return ["full"] * layers
        first = keys.integer("max_window_layers") or 0
        return ["full" if n < first else "sliding" for n in range(layers)]
    return ["sliding"] * layers


def cache_groups(keys: Keys, shape: Shape) -> tuple[list[CacheGroup], bool]:
    """The cache of the whole model, and whether it is fully understood."""
    layers = shape.layers
    if not layers:
        return [], False
    kinds = layer_kinds(keys, layers)
    if kinds is None:
        return [_full(keys, shape, layers)], False
    count = Counter(_owners(keys, kinds))
    groups: list[CacheGroup] = []
    if full := count["full"] + count["both"]:
        groups.append(_full(keys, shape, full))
        groups += _indexer(keys, full)
    if local := count["sliding"] + count["chunked"]:
        groups.append(_sliding(keys, shape, local))
    known = True
    if state := count["state"] + count["both"]:
        group = state_group(keys, shape, state)
        known = group is not None
        groups += [group] if group else []
    if count["shared"]:
        groups.append(CacheGroup(kind="shared", layers=count["shared"]))
    return groups, known and all(g.elements_per_token or g.kind != "full" for g in groups)


def _owners(keys: Keys, kinds: list[str]) -> list[str]:
    """Gemma 3n and 4: the last ``num_kv_shared_layers`` read an earlier layer's cache."""
    shared = keys.integer("num_kv_shared_layers", high=MAX_LAYERS) or 0
    if not 0 < shared < len(kinds):
        return kinds
    return [*kinds[:-shared], *["shared"] * shared]


def _full(keys: Keys, shape: Shape, layers: int) -> CacheGroup:
    rank = keys.integer("kv_lora_rank")
    if rank:
        rope = keys.integer("qk_rope_head_dim") or 0
        return CacheGroup(kind="latent", layers=layers, heads=1, key_dim=rank + rope)
    heads = keys.integer("num_global_key_value_heads") or shape.kv_heads or 0
    dim = keys.integer("global_head_dim") or shape.head_dim or 0
    value = keys.integer("v_head_dim") if "swa_v_head_dim" in keys else None
    return CacheGroup(kind="full", layers=layers, heads=heads, key_dim=dim, value_dim=value or dim)


def _indexer(keys: Keys, layers: int) -> list[CacheGroup]:
    """DeepSeek sparse attention: one key per token and layer for the indexer."""
    dim = keys.integer("index_head_dim")
    if not dim:
        return []
    own = keys.integer("num_index_layers", "index_num_layers") or layers
    return [CacheGroup(kind="indexer", layers=min(own, layers), heads=1, key_dim=dim)]


def _sliding(keys: Keys, shape: Shape, layers: int) -> CacheGroup:
    window = keys.integer("sliding_window", "sliding_window_size", "attention_chunk_size")
    heads = keys.integer("swa_num_key_value_heads") or shape.kv_heads or 0
    dim = keys.integer("swa_head_dim") or shape.head_dim or 0
    value = keys.integer("swa_v_head_dim") or dim
    return CacheGroup(
        kind="sliding", layers=layers, heads=heads, key_dim=dim, value_dim=value, window=window
    )


def state_group(keys: Keys, shape: Shape, layers: int) -> CacheGroup | None:
    """Recurrent and convolution state of one layer, in elements; null if no formula is known.

    Gated DeltaNet: value_heads*dk*dv and (k-1)*(2*key_heads*dk + value_heads*dv).
    Mamba-2: heads*head_dim*N and (k-1)*(heads*head_dim + 2*groups*N). Mamba-1: inner*N and
    (k-1)*inner. KDA: heads*d*d and (k-1)*3*heads*d. Source: ../docs/method/memory.md.
    """
    if values := keys.integer("linear_num_value_heads"):
        dk, dv = keys.integer("linear_key_head_dim") or 0, keys.integer("linear_value_head_dim")
        heads = keys.integer("linear_num_key_heads") or values
        kernel = keys.integer("linear_conv_kernel_dim") or 4
        inner = 2 * heads * dk + values * (dv or dk)
        return _state(layers, values * dk * (dv or dk), (kernel - 1) * inner)
    if linear := keys.section("linear_attn_config"):
        heads = linear.integer("num_heads") or 0
        dim = linear.integer("head_dim") or 0
        kernel = linear.integer("short_conv_kernel_size") or 4
        return _state(layers, heads * dim * dim, (kernel - 1) * 3 * heads * dim)
    if mamba := keys.integer("mamba_num_heads", "mamba_n_heads", "num_heads"):
        return _mamba2(keys, layers, mamba)
    hidden, expand = shape.hidden or 0, keys.integer("mamba_expand", "expand") or 2
    inner = keys.integer("mamba_intermediate_size") or hidden * expand
    state = keys.integer("mamba_d_state", "state_size", "ssm_state_size")
    if state and inner:
        kernel = keys.integer("mamba_d_conv", "conv_kernel", "d_conv") or 4
        return _state(layers, inner * state, (kernel - 1) * inner)
    if keys.items("attn_type_list") and shape.heads and shape.head_dim:
        return _state(layers, shape.heads * shape.head_dim**2, 0)
    return None


def _mamba2(keys: Keys, layers: int, heads: int) -> CacheGroup | None:
    dim = keys.integer("mamba_head_dim", "mamba_d_head", "head_dim")
    state = keys.integer("ssm_state_size", "mamba_d_state", "state_size")
    if not dim or not state:
        return None
    groups = keys.integer("n_groups", "mamba_n_groups", "mamba_ngroups") or 1
    kernel = keys.integer("conv_kernel", "mamba_d_conv") or 4
    return CacheGroup(
        kind="state",
        layers=layers,
        recurrent_elements=heads * dim * state,
        conv_elements=(kernel - 1) * (heads * dim + 2 * groups * state),
        state_heads=heads,
        state_groups=groups,
    )


def _state(layers: int, recurrent: int, conv: int) -> CacheGroup:
    return CacheGroup(kind="state", layers=layers, recurrent_elements=recurrent, conv_elements=conv)
