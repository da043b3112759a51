"""Damaged headers: an error of ours or an answer, never a crash, a hang or a large allocation.

A real header of each kind is cut, overwritten and spliced at random places from fixed seeds. The
short form runs always; ``-m slow`` runs many more.
"""

from __future__ import annotations

import json
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.core.errors import SeatrialError
from seatrial.model import memory, read

Make = Callable[..., Path]
Bytes = Callable[..., bytes]
ROOM = 2 << 20
"""Bytes a reader may take beyond the file's own size (the interpreter's share of parsing)."""


def _damage(data: bytes, rng: random.Random) -> bytes:
    raw = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        place = rng.randrange(len(raw)) if raw else 0
        kind = rng.randrange(5)
        if kind == 0:
            raw[place : place + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            raw[place : place + 8] = rng.choice(
                [
                    b"\xff" * 8,
                    b"\0" * 8,
                    (1 << 31).to_bytes(8, "little"),
                    (1 << 62).to_bytes(8, "little"),
                ]
            )
        elif kind == 2:
            del raw[place:]
        elif kind == 3:
            raw[place:place] = raw[: rng.randrange(64)]
        else:
            del raw[place : place + rng.randrange(64)]
        if not raw:
            return b""
    return bytes(raw)


def _survives(path: Path, size: int) -> None:
    """Reading ends in an answer or in our own error, soon and within the file's own size."""
    tracemalloc.start()
    begun = time.monotonic()
    try:
        model = read(path)
        memory.kv_bytes(model, 4096)
        memory.weight_bytes(model)
    except SeatrialError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert time.monotonic() - begun < 5
    assert peak < ROOM + 40 * size


def _fuzz(path: Path, data: bytes, target: Path, rounds: int, seed: int) -> None:
    for number in range(rounds):
        damaged = _damage(data, random.Random(f"{seed}/{number}"))
        target.write_bytes(damaged)
        _survives(path, len(damaged))


@pytest.mark.parametrize("rounds", [150, pytest.param(5000, marks=pytest.mark.slow)])
def test_damaged_gguf(rounds: int, make_gguf: Make) -> None:
    path = make_gguf()
    _fuzz(path, path.read_bytes(), path, rounds, 1)


@pytest.mark.parametrize("rounds", [150, pytest.param(5000, marks=pytest.mark.slow)])
def test_damaged_safetensors(rounds: int, make_folder: Make, safetensors: Bytes) -> None:
    tensors = {f"model.layers.{n}.w": ("BF16", [4, 4], 32) for n in range(20)}
    folder = make_folder(files={"model.safetensors": safetensors(tensors)})
    file = folder / "model.safetensors"
    _fuzz(folder, file.read_bytes(), file, rounds, 2)


@pytest.mark.parametrize("rounds", [150, pytest.param(5000, marks=pytest.mark.slow)])
def test_damaged_config(rounds: int, make_folder: Make) -> None:
    folder = make_folder()
    file = folder / "config.json"
    _fuzz(folder, file.read_bytes(), file, rounds, 3)


_WORDS: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    1.5,
    1e308,
    2**53,
    10**30,
    "",
    "x" * 500,
    [],
    {},
    [[]],
    [1, "a", None],
    {"model_type": 3},
]


@pytest.mark.parametrize("rounds", [300, pytest.param(10000, marks=pytest.mark.slow)])
def test_configurations_of_wrong_types(rounds: int, make_folder: Make) -> None:
    keys = [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "vocab_size",
        "intermediate_size",
        "model_type",
        "layer_types",
        "sliding_window",
        "sliding_window_pattern",
        "quantization_config",
        "text_config",
        "vision_config",
        "rope_scaling",
        "architectures",
        "num_experts",
        "moe_intermediate_size",
        "kv_lora_rank",
        "hybrid_override_pattern",
        "full_attention_interval",
        "linear_num_value_heads",
        "linear_attn_config",
        "attn_layer_period",
        "first_k_dense_replace",
        "mlp_only_layers",
        "tie_word_embeddings",
        "num_kv_shared_layers",
        "mamba_num_heads",
        "attn_type_list",
        "decoder_sparse_step",
    ]
    folder = make_folder()
    for number in range(rounds):
        rng = random.Random(f"types/{number}")
        body: dict[str, Any] = {
            "hidden_size": 64,
            "num_hidden_layers": 4,
            "vocab_size": 100,
            "num_attention_heads": 4,
            "intermediate_size": 128,
        }
        for key in rng.sample(keys, rng.randint(1, 8)):
            body[key] = rng.choice(
                [*_WORDS, rng.randrange(200), {"quant_method": "fp8"}, ["full_attention"] * 4]
            )
        text = json.dumps(body)
        (folder / "config.json").write_text(text)
        _survives(folder, len(text))
