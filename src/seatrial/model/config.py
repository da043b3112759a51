"""config.json -> shape: one set of names for the many that families use.

Older families have their own words (``n_embd``, ``num_layers``, ``d_model``); multimodal models
keep the language model under ``text_config`` or ``llm_config``. ``head_dim`` is taken as
written where it is written: hidden / heads is wrong for Qwen3, Gemma, gpt-oss and others.
"""

from __future__ import annotations

from pathlib import Path

from seatrial.model import class_defaults
from seatrial.model.bounded import Keys, damaged
from seatrial.model.info import Shape
from seatrial.model.parameters import GATED

_NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "llm", "decoder")
_VISION = ("vision_config", "vision_tower", "visual", "mm_vision_tower", "vit_config")
_AUDIO = ("audio_config", "audio_tower", "speech_config")
_ENCODERS = ("bert", "roberta", "xlm-roberta", "mpnet", "nomic_bert", "modernbert", "deberta")
MAX_DIM = 1 << 24


def text_keys(keys: Keys) -> Keys:
    """The part that describes the language model; what it does not say is looked up above, and
    what nobody says is the default of its class."""
    for _ in range(3):
        inner = keys.section(*_NESTED)
        if inner is None:
            break
        defaults = class_defaults.of(inner)
        if not defaults and not any(k in inner for k in ("hidden_size", "text_config", "n_embd")):
            break
        top = {k: v for k, v in keys.values.items() if not isinstance(v, dict)}
        if (quant := keys.values.get("quantization_config")) is not None:
            top.setdefault("quantization_config", quant)
        written = {k: v for k, v in inner.values.items() if v is not None}
        keys = Keys({**defaults, **top, **written}, keys.path)
    return keys


def architecture(keys: Keys) -> str | None:
    """``architectures[0]`` of the outermost configuration."""
    names = keys.texts("architectures")
    return names[0] if names else None


def shape_of(keys: Keys) -> Shape:
    """Dimensions of the language model; ``keys`` from :func:`text_keys`."""
    heads = keys.integer("num_attention_heads", "n_head", "n_heads", "num_heads", high=MAX_DIM)
    heads = heads or keys.integer("decoder_attention_heads", high=MAX_DIM)
    hidden = keys.integer("hidden_size", "n_embd", "d_model", "dim", high=MAX_DIM)
    head_dim = keys.integer("head_dim", "kv_channels", "attention_head_dim", high=MAX_DIM)
    if not head_dim and heads and hidden:
        head_dim = hidden // heads
    experts = keys.integer(
        "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", high=MAX_DIM
    )
    layers = keys.integer("num_hidden_layers", "n_layer", "num_layers", "n_layers", high=1 << 16)
    encoder = keys.integer("encoder_layers", high=1 << 16)
    decoder = keys.integer("decoder_layers", high=1 << 16)
    if encoder and decoder:  # Whisper and BART; the decoder attends to itself and to the encoder
        layers = encoder + decoder
    return Shape(
        layers=layers,
        hidden=hidden,
        intermediate=_intermediate(keys, hidden),
        vocabulary=keys.integer("vocab_size", "padded_vocab_size", high=1 << 32),
        heads=heads,
        kv_heads=_kv_heads(keys, heads),
        head_dim=head_dim,
        max_positions=_positions(keys),
        sliding_window=keys.integer("sliding_window"),
        experts=experts or None,
        experts_per_token=keys.integer(
            "num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_k", high=MAX_DIM
        ),
        expert_intermediate=_expert_width(keys) if experts else None,
        shared_expert_intermediate=_shared_width(keys) if experts else None,
        dense_layers=_dense_layers(keys, layers or 0) if experts else 0,
        draft_layers=keys.integer("num_nextn_predict_layers", "mtp_num_hidden_layers") or 0,
        tied_embeddings=_tied(keys),
        index_topk=keys.integer("index_topk", high=1 << 24),
    )


def _intermediate(keys: Keys, hidden: int | None) -> int | None:
    value = keys.integer(
        "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", high=MAX_DIM
    )
    value = value or keys.integer("decoder_ffn_dim", high=MAX_DIM)
    if value is None and hidden and ("n_embd" in keys or keys.text("model_type") == "falcon"):
        return 4 * hidden
    return value


def _kv_heads(keys: Keys, heads: int | None) -> int | None:
    """Falcon and GPT-BigCode say multi-query with a flag; ChatGLM counts groups."""
    falcon = (keys.text("model_type") or "") in {"falcon", "RefinedWebModel", "RefinedWeb"}
    if keys.flag("multi_query_attention"):
        return keys.integer("multi_query_group_num") or 1
    if keys.flag("multi_query") and not keys.flag("new_decoder_architecture"):
        return 1
    value = keys.integer(
        "num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads", high=MAX_DIM
    )
    if value is None and (attn := keys.section("attn_config")):
        value = attn.integer("kv_n_heads", high=MAX_DIM)
    if value is None and falcon:
        return heads
    return value or heads


def _positions(keys: Keys) -> int | None:
    value = keys.integer(
        "max_position_embeddings",
        "n_positions",
        "max_sequence_length",
        "seq_length",
        "max_seq_len",
        "model_max_length",
        "max_target_positions",
        "context_window_size",
    )
    rope = keys.section("rope_scaling", "rope_parameters")
    kind = (rope.text("rope_type", "type") or "") if rope else ""
    if rope and value and kind in {"yarn", "linear", "dynamic"}:
        original = rope.integer("original_max_position_embeddings")
        factor = rope.number("factor")
        if not original and kind != "yarn":  # engines multiply the length as written
            original = value
        if original and factor and 1 <= factor <= 1024:
            return max(value, int(original * factor))
    return value


def traits(keys: Keys, shape: Shape) -> list[str]:
    """What this configuration says beyond what its class could once read."""
    rope = keys.section("rope_scaling", "rope_parameters")
    kind = (rope.text("rope_type", "type") or "") if rope else ""
    found = [f"rope:{kind}"] if kind in _ROPES else []
    own = keys.integer("max_position_embeddings")
    if rope and own and "original_max_position_embeddings" in rope and kind in _ROPES[:3]:
        found.append(f"positions:{own}")
    own = keys.integer("head_dim", high=MAX_DIM)
    if own and shape.hidden and shape.heads and own * shape.heads != shape.hidden:
        found.append("head-dim")
    if shape.experts:
        found.append("experts")
    if source := keys.integer("max_source_positions", high=1 << 20):
        found.append(f"source:{source}")
    if chunk := keys.integer("prefill_chunk_size", high=1 << 24):
        found.append(f"chunk:{chunk}")
    part = keys.number("partial_rotary_factor")
    if part is not None and 0 < part < 1:
        found.append("partial-rotary")
    if keys.flag("attn_output_gate") or keys.text("model_type") in GATED:
        found.append("gated-attention")
    return found


def images(keys: Keys) -> list[str]:
    """The tower's layers and width, and one image's bytes where an encoder's states are attended
    to across (Mllama): tiles of patches, padded to eights, with the layers that are kept and two
    feed-forward states, in 16 bits (vllm 0.6.3 wheel, models/mllama.py)."""
    eye = keys.section("vision_config")
    if eye is None:
        return []
    layers, hidden = eye.integer("num_hidden_layers") or 24, eye.integer("hidden_size") or 1024
    tower = f"tower:{layers}x{min(hidden, MAX_DIM)}"
    if keys.text("model_type") != "mllama":
        return [tower]
    side = (eye.integer("image_size") or 560) // (eye.integer("patch_size") or 14)
    tokens = -(-(side * side + 1) // 8) * 8 * (eye.integer("max_num_tiles") or 4)
    hidden = eye.integer("hidden_size", high=MAX_DIM) or 1280
    kept = len(eye.items("intermediate_layers_indices") or [0] * 5) + 1
    return [
        tower,
        f"image:{tokens * (kept * hidden + 2 * (eye.integer('intermediate_size') or 5120)) * 2}",
    ]


_ROPES = ("linear", "dynamic", "yarn", "su", "longrope", "llama3")


def _expert_width(keys: Keys) -> int | None:
    return keys.integer(
        "moe_intermediate_size",
        "expert_intermediate_size",
        "moe_ffn_hidden_size",
        "intermediate_size",
        high=MAX_DIM,
    )


def _shared_width(keys: Keys) -> int | None:
    if direct := keys.integer("shared_expert_intermediate_size", "shared_intermediate_size"):
        return direct
    count = keys.integer("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    width = keys.integer("moe_shared_expert_intermediate_size") or _expert_width(keys)
    return count * width if count and width else None


def _dense_layers(keys: Keys, layers: int) -> int:
    """Layers whose feed-forward is dense in a model with experts."""
    first = keys.integer("first_k_dense_replace", "num_dense_layers")
    if first:
        return min(first, layers)
    if only := keys.items("mlp_only_layers"):
        return len(only)
    step = keys.integer("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq")
    if step and step > 1:
        return layers - layers // step
    if period := keys.integer("expert_layer_period"):
        offset = keys.integer("expert_layer_offset") or 0
        return sum(1 for n in range(layers) if n % period != offset)
    pattern = keys.text("hybrid_override_pattern")
    if pattern:
        return layers - pattern.count("E")
    return 0


def _tied(keys: Keys) -> bool:
    """transformers' default is tied for these families and untied for the others that matter."""
    said = keys.flag("tie_word_embeddings", "tie_embeddings")
    if said is not None:
        return said
    family = keys.text("model_type") or ""
    return family.startswith(("gemma", "gpt2", "falcon", "cohere", "gpt_bigcode", "opt", "mpt"))


def vision_heads(keys: Keys) -> int | None:
    """Attention heads of the image encoder, where the configuration says."""
    part = keys.section(*_VISION)
    if part is None:
        return None
    return part.integer("num_attention_heads", "num_heads", "attention_heads", high=MAX_DIM)


def has_vision(keys: Keys) -> bool:
    """Whether the configuration describes an image encoder."""
    return any(isinstance(keys.values.get(k), dict | str) for k in _VISION)


def has_audio(keys: Keys) -> bool:
    """Whether the configuration describes an audio encoder."""
    whisper = keys.text("model_type") == "whisper"
    return whisper or any(isinstance(keys.values.get(k), dict | str) for k in _AUDIO)


def is_encoder(keys: Keys) -> bool:
    """Encoder-only models (embeddings, rerankers) have no KV cache and generate nothing."""
    family = (keys.text("model_type") or "").lower()
    name = architecture(keys) or ""
    return family in _ENCODERS or name.endswith(("BertModel", "RobertaModel"))


def is_embedding(keys: Keys, folder: Path) -> bool:
    """Sentence-transformers layout, an encoder, or a sequence classifier."""
    name = architecture(keys) or ""
    pooled = (folder / "1_Pooling").is_dir() or (folder / "modules.json").is_file()
    return is_encoder(keys) or pooled or "SequenceClassification" in name


def check(shape: Shape, path: Path) -> Shape:
    """Refuse dimensions that contradict each other."""
    if shape.heads and shape.kv_heads and shape.kv_heads > shape.heads:
        raise damaged(path, f"{shape.kv_heads} KV heads for {shape.heads} attention heads")
    return shape
