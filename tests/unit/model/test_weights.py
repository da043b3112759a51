"""Weights against published values, exactly: parameters, index totals, sizes of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial.model import ModelInfo, memory, read

GIB = 1 << 30
DATA = Path(__file__).resolve().parents[2] / "data" / "model"
PUBLISHED = yaml.safe_load((DATA / "published.yaml").read_text())


def _model(folder: Path, name: str, **more: Any) -> ModelInfo:
    body = {"torch_dtype": "bfloat16", **PUBLISHED[name]["config"], **more}
    (folder / "config.json").write_text(json.dumps(body))
    return read(folder)


def test_there_are_enough_models_of_every_kind_of_attention() -> None:
    assert len(PUBLISHED) >= 45
    assert all(row["source"] for row in PUBLISHED.values())


@pytest.mark.parametrize("name", list(PUBLISHED))
def test_parameters_from_dimensions(name: str, tmp_path: Path) -> None:
    count = _model(tmp_path, name).parameters
    assert count is not None
    assert count.exact
    assert count.total == PUBLISHED[name]["parameters"], PUBLISHED[name]["source"]


INDEX_TOTALS = {
    "Llama-3.1-8B": (16_060_522_496, "model.safetensors.index.json total_size (HF course text)"),
    "Qwen2.5-7B": (15_231_233_024, "model.safetensors.index.json total_size"),
    "Mistral-7B-v0.1": (14_483_464_192, "index total_size of Mistral-7B-Instruct-v0.2"),
    "Qwen2.5-32B": (65_527_752_704, "tensor bytes of 17 shards (NVFlare stress study)"),
    "Qwen2.5-14B": (29_540_067_328, "payload bytes of 14B (NVFlare stress study)"),
    "Gemma-2-9B": (18_483_411_968, "index total_size of gemma-2-9b-it"),
    "Qwen3-Next-80B-A3B": (159_348_782_592, "2 x parameters of Qwen3-Coder-Next, all BF16"),
}


@pytest.mark.parametrize("name", list(INDEX_TOTALS))
def test_weight_bytes_are_the_total_of_the_published_index(name: str, tmp_path: Path) -> None:
    band = memory.weight_bytes(_model(tmp_path, name))
    assert band is not None
    assert band.best == INDEX_TOTALS[name][0], INDEX_TOTALS[name][1]


CATALOG = {  # modelFileSize in kaito@056b8280 presets/workspace/models/model_catalog.yaml
    "Llama-3.1-8B": 14.96,
    "Llama-3.3-70B": 131.42,
    "Phi-4": 27.31,
    "Phi-3-mini": 7.12,
    "Phi-4-mini": 7.15,
    "Mistral-7B-v0.3": 13.50,
    "Qwen3-8B": 15.26,
    "Qwen3-30B-A3B": 56.87,
    "Qwen2.5-7B": 14.19,
    "Qwen2.5-14B": 27.51,
    "Qwen2.5-32B": 61.03,
    "Nemotron-Nano-9B-v2": 16.56,
    "Nemotron-3-Nano-30B-A3B": 58.82,
}


@pytest.mark.parametrize("name", list(CATALOG))
def test_file_sizes_of_a_catalogue(name: str, tmp_path: Path) -> None:
    band = memory.weight_bytes(_model(tmp_path, name))
    assert band is not None
    assert round(band.best / GIB, 2) == CATALOG[name]


def test_a_draft_layer_to_the_last_element(tmp_path: Path) -> None:
    """GLM-4.5-Air: 110,468,824,832 in the Hub's total, its MTP layer included (kvfit)."""
    body = {
        "model_type": "glm4_moe",
        "hidden_size": 4096,
        "num_hidden_layers": 46,
        "num_attention_heads": 96,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 10944,
        "moe_intermediate_size": 1408,
        "n_routed_experts": 128,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 1,
        "attention_bias": True,
        "use_qk_norm": False,
        "vocab_size": 151552,
        "tie_word_embeddings": False,
        "num_nextn_predict_layers": 1,
    }
    (tmp_path / "config.json").write_text(json.dumps(body))
    count = read(tmp_path).parameters
    assert count is not None
    assert count.total + count.draft == 110_468_824_832


def test_the_two_parts_of_deepseek_v3(tmp_path: Path) -> None:
    """The Hub counts 684,531,386,000: the main model, the MTP layer and 41,540,496 scales
    (of the 41,555,600 float32 elements 15,104 are router biases, which both parts hold)."""
    count = _model(tmp_path, "DeepSeek-V3").parameters
    assert count is not None
    assert count.total + count.draft + 41_540_496 == 684_531_386_000


def test_deepseek_v3_in_fp8_with_its_draft_layer(tmp_path: Path) -> None:
    """641.30 GiB in the repository (KAITO catalogue)."""
    quant = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    model = _model(tmp_path, "DeepSeek-V3", quantization_config=quant)
    band = memory.weight_bytes(model, draft=True)
    assert band is not None
    assert band.best / GIB == pytest.approx(641.30, rel=0.003)


JAMBA = {
    "model_type": "jamba",
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 65536,
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
    "num_experts": 16,
    "num_experts_per_tok": 2,
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "tie_word_embeddings": False,
}


@pytest.mark.parametrize(
    ("shape", "billions", "digits"),
    [
        ((4096, 32, 32, 14336, 256), 51.57, 2),  # Open LLM Leaderboard, Jamba-v0.1: params 51.57
        ((8192, 72, 64, 24576, 512), 398.6, 1),  # Jamba-1.5-Large: 398B in its paper
    ],
)
def test_jamba_is_counted_by_its_modeling_file(
    shape: tuple[int, ...], billions: float, digits: int, tmp_path: Path
) -> None:
    hidden, layers, heads, wide, rank = shape
    body = {
        **JAMBA,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": wide,
        "mamba_dt_rank": rank,
    }
    (tmp_path / "config.json").write_text(json.dumps(body))
    count = read(tmp_path).parameters
    assert count is not None
    assert count.exact
    assert round(count.total / 1e9, digits) == billions


def test_every_tensor_of_jamba_v01_is_counted(tmp_path: Path) -> None:
    """Tensors of transformers modeling_jamba.py, added up by hand: 28 Mamba layers, 4 attention
    layers, 16 dense and 16 expert feed-forwards, tables, norms."""
    body = {**JAMBA, "hidden_size": 4096, "num_hidden_layers": 32, "intermediate_size": 14336}
    (tmp_path / "config.json").write_text(json.dumps({**body, "mamba_dt_rank": 256}))
    inner, states, rank = 8192, 16, 256
    mixer = 2 * 4096 * inner + inner * (4 + 1) + inner * (rank + 2 * states)
    mixer += rank * inner + inner + inner * states + inner + inner * 4096 + rank + 2 * states
    feed = 3 * 4096 * 14336
    want = 28 * mixer + 4 * (2 * 4096 * 4096 + 2 * 4096 * 1024)
    want += 16 * feed + 16 * (16 * feed + 4096 * 16) + 2 * 65536 * 4096 + 32 * 2 * 4096 + 4096
    count = read(tmp_path).parameters
    assert count is not None
    assert count.total == want == 51_570_323_328


def test_an_image_encoder_is_as_wide_as_it_is_inside(tmp_path: Path) -> None:
    """Qwen2-VL's vision_config.hidden_size is the language model's width (its paper: 675 million
    parameters in the encoder of every size)."""
    text = {
        "architectures": ["Qwen2VLForConditionalGeneration"],
        "model_type": "qwen2_vl",
        "hidden_size": 8192,
        "intermediate_size": 29568,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "vocab_size": 152064,
        "torch_dtype": "bfloat16",
    }
    sizes = []
    for name, more in (
        ("text", {}),
        ("both", {"vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 8192}}),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(text | more))
        band = memory.weight_bytes(read(folder))
        assert band is not None
        sizes.append(band.best)
    assert 0.55e9 < (sizes[1] - sizes[0]) / 2 < 0.8e9
