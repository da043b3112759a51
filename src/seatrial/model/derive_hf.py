"""Write a Hugging Face folder (bf16) from a GGUF of the architecture ``llama``.

llama.cpp stores the query and key matrices with the rows of each head interleaved for its way of
rotary embedding; the converter turns rows (2, half) into (half, 2) (llama.cpp
convert_hf_to_gguf.py, ``LlamaModel.permute``). Here the turn is undone head by head:

    gguf row  head * d + 2 * i + j   <->   hugging face row  head * d + j * d/2 + i

Forgetting it gives a model that loads, runs and talks nonsense; the tests compare values and the
quality check compares answers. Numbers in config.json are the shortest decimal that gives the
float32 of the GGUF again (1e-05, not 9.999999747378752e-06).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress
from seatrial.model import derive_safetensors as safetensors
from seatrial.model.derive_gguf import Written
from seatrial.model.derive_rows import Converter, Floats, decode, encode
from seatrial.model.derive_source import Source, Tensor
from seatrial.model.derive_tokenizer import tokenizer_files
from seatrial.store.artifact import encode as encode_json
from seatrial.store.atomic import write_bytes

_TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_BLOCK = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}
_NAME = re.compile(r"blk\.(\d+)\.(.+)")
_DTYPE = "BF16"


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of a llama model that the folder needs."""

    layers: int
    heads: int
    kv_heads: int
    hidden: int
    head_dim: int


def hf_name(name: str) -> str | None:
    """The Hugging Face name of a GGUF tensor of a plain llama; None where there is none."""
    if name in _TOP:
        return _TOP[name]
    match = _NAME.fullmatch(name)
    if match is None or match[2] not in _BLOCK:
        return None
    return f"model.layers.{int(match[1])}.{_BLOCK[match[2]]}"


def unpermute(rows: Floats, head_dim: int) -> Floats:
    """Undo llama.cpp's interleaving of the rows of each head; rows: (heads * head_dim, columns)."""
    heads = rows.shape[0] // head_dim
    split = rows.reshape(heads, head_dim // 2, 2, rows.shape[1])
    return np.ascontiguousarray(split.swapaxes(1, 2)).reshape(rows.shape)


def write_folder(source: Source, folder: Path, *, progress: Progress) -> Written:
    """Fill ``folder`` with config, tokenizer, generation config and model.safetensors.

    Raises:
        UsageError: an architecture, tensor or tokenizer that has no exact counterpart here.
    """
    shape = _shape(source)
    names = _names(source)
    files = {"config.json": config(source, shape), **tokenizer_files(source)}
    files["generation_config.json"] = _generation(source)
    for name, value in files.items():
        write_bytes(folder / name, encode_json(value))
    planned = [
        safetensors.Planned(names[tensor.name], _DTYPE, tensor.shape) for tensor in source.tensors
    ]
    converter = Converter(source)
    path = folder / "model.safetensors"
    with source.path.open("rb") as file:
        pieces = _all_pieces(converter, file, shape, progress)
        sha256 = safetensors.write(path, planned, pieces)
    return Written(sha256, path.stat().st_size, {_DTYPE: len(planned)}, converter.loss.result())


def _all_pieces(
    converter: Converter, file: BinaryIO, shape: Shape, progress: Progress
) -> Iterator[Iterator[bytes]]:
    total = sum(tensor.nbytes for tensor in converter.source.tensors)
    done = 0
    for tensor in converter.source.tensors:
        yield _pieces(converter, file, tensor, shape)
        done += tensor.nbytes
        progress.amount("derive", done, total, "bytes")


def _pieces(converter: Converter, file: BinaryIO, tensor: Tensor, shape: Shape) -> Iterator[bytes]:
    turned = tensor.name.endswith(("attn_q.weight", "attn_k.weight"))
    for values in converter.floats(file, tensor, shape.head_dim if turned else 1):
        rows = unpermute(values, shape.head_dim) if turned else values
        packed = encode(rows, _DTYPE)
        converter.loss.add(rows, decode(packed, _DTYPE).reshape(rows.shape))
        yield packed.tobytes()


def _names(source: Source) -> dict[str, str]:
    names = {tensor.name: hf_name(tensor.name) for tensor in source.tensors}
    if unknown := [name for name, found in names.items() if found is None]:
        raise UsageError(
            f"{len(unknown)} tensors of {source.path.name} have no place in a plain llama folder "
            f"({', '.join(unknown[:3])})",
            where=str(source.path),
            remedy="take the model's own Hugging Face folder for this engine",
        )
    return {name: found for name, found in names.items() if found is not None}


def _shape(source: Source) -> Shape:
    architecture = source.value("general.architecture")
    scaled = source.value("llama.rope.scaling.type", "none") != "none"
    experts = source.value("llama.expert_count", 0)
    if architecture != "llama" or scaled or experts:
        raise UsageError(
            f"a Hugging Face folder can be derived from a plain llama GGUF; {source.path.name} is "
            f"{architecture}{', with scaled rope' if scaled else ''}"
            f"{f', with {experts} experts' if experts else ''}",
            where=str(source.path),
            remedy="take the model's own Hugging Face folder for this engine",
        )
    hidden, heads = _need(source, "embedding_length"), _need(source, "attention.head_count")
    return Shape(
        layers=_need(source, "block_count"),
        heads=heads,
        kv_heads=source.value("llama.attention.head_count_kv", heads),
        hidden=hidden,
        head_dim=source.value("llama.attention.key_length", hidden // heads),
    )


def _need(source: Source, key: str) -> int:
    value = source.value(f"llama.{key}")
    if not isinstance(value, int) or value <= 0:
        raise UsageError(
            f"{source.path.name} carries no usable llama.{key} ({value!r})",
            where=str(source.path),
            remedy="take a GGUF made by llama.cpp's converter",
        )
    return value


def shortest(value: float) -> float:
    """The shortest decimal whose float32 is ``value``: 1e-05 for 9.999999747378752e-06."""
    return float(str(np.float32(value)))


def config(source: Source, shape: Shape) -> dict[str, Any]:
    """config.json of the folder."""
    tensors = {tensor.name: tensor for tensor in source.tensors}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": source.value("tokenizer.ggml.bos_token_id"),
        "eos_token_id": source.value("tokenizer.ggml.eos_token_id"),
        "pad_token_id": source.value("tokenizer.ggml.padding_token_id"),
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "hidden_size": shape.hidden,
        "intermediate_size": _need(source, "feed_forward_length"),
        "max_position_embeddings": _need(source, "context_length"),
        "mlp_bias": False,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.kv_heads,
        "rms_norm_eps": shortest(source.value("llama.attention.layer_norm_rms_epsilon", 1e-6)),
        "rope_scaling": None,
        "rope_theta": shortest(source.value("llama.rope.freq_base", 10000.0)),
        "tie_word_embeddings": "output.weight" not in tensors,
        "torch_dtype": "bfloat16",
        "use_cache": True,
        "vocab_size": tensors["token_embd.weight"].shape[0],
    }


def _generation(source: Source) -> dict[str, Any]:
    return {
        "_from_model_config": True,
        "bos_token_id": source.value("tokenizer.ggml.bos_token_id"),
        "eos_token_id": source.value("tokenizer.ggml.eos_token_id"),
        "pad_token_id": source.value("tokenizer.ggml.padding_token_id"),
    }
