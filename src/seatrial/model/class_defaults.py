"""What a published configuration leaves out because it is its class's own default.

Multimodal repositories write of their language model only what differs from the configuration
class of transformers; Gemma 3 4B names no heads, LLaVA 1.5 none of its dimensions. The values are
those of transformers 4.50's classes (``Gemma3TextConfig``, ``LlamaConfig``, ``MistralConfig``).
"""

from __future__ import annotations

from seatrial.model.bounded import Keys

_LLAMA: dict[str, object] = {
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}
_MISTRAL: dict[str, object] = {
    **_LLAMA,
    "intermediate_size": 14336,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
}
_GEMMA3: dict[str, object] = {
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "vocab_size": 262208,
    "max_position_embeddings": 131072,
    "sliding_window": 4096,
}
_CLASSES: dict[str, dict[str, object]] = {
    "llama": _LLAMA,
    "mistral": _MISTRAL,
    "gemma3_text": _GEMMA3,
}


def of(part: Keys) -> dict[str, object]:
    """What the class that this part names has where nobody says otherwise; empty if not known."""
    return _CLASSES.get(part.text("model_type") or "", {})
