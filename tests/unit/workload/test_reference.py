"""The reference of the pressure: devices by name, models by their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.workload.pressure import Reference
from seatrial.workload.reference import reference

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
    "max_position_embeddings": 131072,
}


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    folder = tmp_path / "llama-8b"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    return folder


def test_nothing_given_is_the_default() -> None:
    assert reference() is None


def test_the_default_is_what_published_figures_and_dimensions_give(llama: Path) -> None:
    made, default = reference("h100-80gb", llama), Reference()
    assert made is not None
    assert made.name == "llama-8b on 1 x h100-80gb"
    assert made.layers == default.layers
    assert made.width == default.width
    assert made.kv_bytes_per_token == default.kv_bytes_per_token
    assert made.parameters == pytest.approx(default.parameters, rel=1e-3)
    assert made.weight_bytes == pytest.approx(default.weight_bytes, rel=1e-3)
    assert made.peak_flops == pytest.approx(default.peak_flops, rel=1e-3)
    assert made.bandwidth == pytest.approx(default.bandwidth, rel=1e-3)


def test_devices_add_up(llama: Path) -> None:
    one, two = reference("l40s", llama), reference("l40s", llama, 2)
    assert one is not None
    assert two is not None
    assert two.bandwidth == 2 * one.bandwidth
    assert two.kv_tokens > 2 * one.kv_tokens


def test_a_model_that_does_not_fit_is_said(llama: Path) -> None:
    with pytest.raises(UsageError, match="does not fit"):
        reference("t4", llama)
    with pytest.raises(UsageError):
        reference("h999")
