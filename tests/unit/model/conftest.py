"""Small files of the real formats, made here."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def gguf_bytes(
    values: dict[str, Any], tensors: list[tuple[str, tuple[int, ...], int, int]]
) -> bytes:
    """A GGUF version 3 header: values are str, int, bool or lists of str or int."""
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, value in values.items():
        out += _string(key)
        if isinstance(value, str):
            out += struct.pack("<I", 8) + _string(value)
        elif isinstance(value, bool):
            out += struct.pack("<I?", 7, value)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            out += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
        elif isinstance(value, list):
            out += struct.pack("<IIQ", 9, 4, len(value)) + struct.pack(f"<{len(value)}I", *value)
        else:
            out += struct.pack("<II", 4, value)
    for name, shape, kind, offset in tensors:
        out += _string(name) + struct.pack("<I", len(shape))
        out += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", kind, offset)
    return out


def safetensors_bytes(
    tensors: dict[str, tuple[str, list[int], int]], *, data: bool = True
) -> bytes:
    """A safetensors file; each tensor is (dtype, shape, bytes)."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + (b"\0" * at if data else b"")


SMALL_GGUF: dict[str, Any] = {
    "general.architecture": "llama",
    "general.file_type": 3,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 128,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.context_length": 2048,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": [f"t{n}" for n in range(2000)],
}
SMALL_CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def make_gguf(tmp_path: Path) -> Callable[..., Path]:
    """``make_gguf(name, values={...}, tensors=[...], data=bytes)`` writes a GGUF file."""

    def make(
        name: str = "m.gguf",
        *,
        values: dict[str, Any] | None = None,
        tensors: list[tuple[str, tuple[int, ...], int, int]] | None = None,
        data: bytes | None = None,
    ) -> Path:
        rows = [("token_embd.weight", (64, 32), 0, 0)] if tensors is None else tensors
        head = gguf_bytes(SMALL_GGUF if values is None else values, rows)
        body = b"\0" * 16384 if data is None else data
        path = tmp_path / name
        path.write_bytes(head + b"\0" * (-len(head) % 32) + body)
        return path

    return make


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    """``make_folder(config={...}, files={name: bytes})`` writes a model folder."""

    def make(config: dict[str, Any] | None = None, files: dict[str, bytes] | None = None) -> Path:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        body = SMALL_CONFIG if config is None else config
        (folder / "config.json").write_text(json.dumps(body))
        for name, data in (files or {}).items():
            (folder / name).write_bytes(data)
        return folder

    return make


@pytest.fixture
def safetensors() -> Callable[..., bytes]:
    """The bytes of a safetensors file."""
    return safetensors_bytes


@pytest.fixture
def gguf() -> Callable[..., bytes]:
    """The bytes of a GGUF header."""
    return gguf_bytes
