"""What a published configuration leaves out is its class's default, and what is written stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seatrial.model import read

GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "intermediate_size": 10240,
    "num_hidden_layers": 34,
    "sliding_window": 1024,
}


def _shape(folder: Path, outer: str, kind: str, text: dict[str, Any]) -> Any:
    config = {"architectures": [outer], "model_type": kind, "text_config": text}
    (folder / "config.json").write_text(json.dumps(config | {"torch_dtype": "bfloat16"}))
    return read(folder).shape


def test_gemma_3_4b_names_no_heads(tmp_path: Path) -> None:
    shape = _shape(tmp_path, "Gemma3ForConditionalGeneration", "gemma3", GEMMA)
    assert (shape.heads, shape.kv_heads, shape.head_dim) == (8, 4, 256)
    assert (shape.vocabulary, shape.hidden, shape.sliding_window) == (262208, 2560, 1024)
    assert shape.max_positions == 131072


def test_the_class_s_groups_stand_beside_heads_that_are_written(tmp_path: Path) -> None:
    text = GEMMA | {"num_attention_heads": 16}
    shape = _shape(tmp_path, "Gemma3ForConditionalGeneration", "gemma3", text)
    assert (shape.heads, shape.kv_heads) == (16, 4)


def test_llava_names_none_of_its_dimensions(tmp_path: Path) -> None:
    text = {"model_type": "llama", "max_position_embeddings": 4096, "vocab_size": 32064}
    shape = _shape(tmp_path, "LlavaForConditionalGeneration", "llava", text)
    assert (shape.layers, shape.hidden, shape.intermediate) == (32, 4096, 11008)
    assert (shape.heads, shape.kv_heads, shape.vocabulary) == (32, 32, 32064)
    assert shape.max_positions == 4096


def test_what_the_outer_part_says_stands_above_the_class(tmp_path: Path) -> None:
    config = {
        "architectures": ["LlavaForConditionalGeneration"],
        "model_type": "llava",
        "vocab_size": 32064,
        "text_config": {"model_type": "llama", "max_position_embeddings": 4096},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read(tmp_path).shape.vocabulary == 32064


@pytest.mark.parametrize("kind", ["someones_own", ""])
def test_a_class_without_a_row_gets_no_guess(tmp_path: Path, kind: str) -> None:
    text = {"model_type": kind, "vocab_size": 32064}
    shape = _shape(tmp_path, "LlavaForConditionalGeneration", "llava", text)
    assert (shape.layers, shape.heads) == (None, None)
