"""A GGUF header's metadata in the words of config.json, so that one set of rules serves both.

Keys are ``<architecture>.block_count`` and so on (llama.cpp src/llama-arch.cpp, LLM_KV_NAMES).
Head counts may be arrays, one value per layer: hybrids write 0 for layers without attention.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seatrial.model.bounded import Keys
from seatrial.model.gguf_file import GgufHeader, Length

_NAMES = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.value_length": "v_head_dim",
    "attention.sliding_window": "sliding_window",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.q_lora_rank": "q_lora_rank",
    "attention.indexer.key_length": "index_head_dim",
    "attention.shared_kv_layers": "num_kv_shared_layers",
    "rope.dimension_count": "rope_dim",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "leading_dense_block_count": "first_k_dense_replace",
    "full_attention_interval": "full_attention_interval",
    "nextn_predict_layers": "num_nextn_predict_layers",
    "vocab_size": "vocab_size",
    "ssm.conv_kernel": "ssm_conv_kernel",
    "ssm.inner_size": "ssm_inner_size",
    "ssm.state_size": "ssm_state",
    "ssm.time_step_rank": "ssm_rank",
    "ssm.group_count": "ssm_groups",
}
_PERIOD = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "gemma4": 6, "cohere2": 4, "gpt-oss": 2}


def as_config(header: GgufHeader, path: Path) -> Keys:
    """The metadata as a configuration object."""
    values = header.values
    arch = values.get("general.architecture")
    arch = arch if isinstance(arch, str) else ""
    out: dict[str, Any] = {"model_type": arch}
    for name, ours in _NAMES.items():
        value = values.get(f"{arch}.{name}")
        if isinstance(value, list):
            out |= _per_layer(ours, value)
        elif value is not None and not isinstance(value, Length):
            out[ours] = value
    tokens = values.get("tokenizer.ggml.tokens")
    if "vocab_size" not in out and isinstance(tokens, Length | list):
        out["vocab_size"] = tokens.items if isinstance(tokens, Length) else len(tokens)
    _latent(out)
    _state(out, arch)
    pattern = values.get(f"{arch}.attention.sliding_window_pattern")
    if isinstance(pattern, list) and "sliding_window" in out:
        out["layer_types"] = ["sliding_attention" if p else "attention" for p in pattern]
    elif "sliding_window" in out and arch in _PERIOD:
        out["sliding_window_pattern"] = _PERIOD[arch]
    out["tie_word_embeddings"] = not any(t.name == "output.weight" for t in header.tensors)
    return Keys(out, path)


def _per_layer(name: str, value: list[Any]) -> dict[str, Any]:
    """An array per layer: the largest value, and which layers have attention at all."""
    numbers = [v for v in value if isinstance(v, int)]
    if not numbers:
        return {}
    out: dict[str, Any] = {name: max(numbers)}
    if name == "num_key_value_heads" and 0 in numbers:
        out["layer_types"] = ["attention" if v else "linear_attention" for v in numbers]
    return out


def _latent(out: dict[str, Any]) -> None:
    """MLA: the cached key is the latent and the rotary part; ``rope_dim`` is the latter."""
    if out.get("kv_lora_rank"):
        out["qk_rope_head_dim"] = out.get("rope_dim", 64)


def _state(out: dict[str, Any], arch: str) -> None:
    """llama.cpp describes every recurrent layer with the five ``ssm`` numbers."""
    inner, size = out.get("ssm_inner_size"), out.get("ssm_state")
    if not isinstance(inner, int) or not isinstance(size, int):
        return
    out["mamba_intermediate_size"], out["mamba_d_state"] = inner, size
    out["mamba_d_conv"] = out.get("ssm_conv_kernel", 4)
    rank, groups = out.get("ssm_rank"), out.get("ssm_groups")
    if not (isinstance(rank, int) and rank and isinstance(groups, int) and groups):
        return
    if arch.startswith("qwen3"):
        out |= {
            "linear_num_value_heads": rank,
            "linear_num_key_heads": groups,
            "linear_key_head_dim": size,
            "linear_value_head_dim": inner // rank,
            "linear_conv_kernel_dim": out["mamba_d_conv"],
        }
    else:
        out |= {
            "mamba_num_heads": rank,
            "mamba_head_dim": inner // rank,
            "ssm_state_size": size,
            "n_groups": groups,
        }
