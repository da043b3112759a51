"""What a model's own files say: formats, shards, schemes, projectors, what is missing."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.model import read
from seatrial.model.adapter import read_adapter

Make = Callable[..., Path]
Bytes = Callable[..., bytes]


def test_gguf_header(make_gguf: Make) -> None:
    model = read(make_gguf())
    assert (model.format, model.architecture) == ("gguf", "llama")
    assert model.shape.layers == 2
    assert model.shape.vocabulary == 2000
    assert model.quantization is not None
    assert model.quantization.scheme == "Q4_1"
    assert model.types == {"F32": 1}
    assert model.weight_bytes == 64 * 32 * 4
    assert model.tokenizer


def test_real_gguf(small_model: Path) -> None:
    model = read(small_model)
    assert model.weight_parameters == 134_515_008
    assert model.parameters is not None
    assert model.parameters.total == 134_515_008
    assert model.disk_bytes == small_model.stat().st_size


def test_split_gguf_is_one_model(make_gguf: Make) -> None:
    first = make_gguf("m-00001-of-00002.gguf")
    make_gguf("m-00002-of-00002.gguf", tensors=[("output.weight", (64, 32), 0, 0)])
    model = read(first)
    assert (model.shards, len(model.tensors)) == (2, 2)
    assert not model.findings
    assert read(first.parent).shards == 2


def test_missing_part_of_a_split_set_is_said(make_gguf: Make) -> None:
    model = read(make_gguf("m-00001-of-00003.gguf"))
    assert model.shards == 3
    assert model.findings == ["1 of 3 files of the split set are here"]


def test_two_models_in_one_folder_are_not_guessed(make_gguf: Make) -> None:
    first = make_gguf("a.gguf")
    make_gguf("b.gguf")
    with pytest.raises(UsageError, match="2 GGUF models"):
        read(first.parent)


def test_projector_beside_a_gguf(make_gguf: Make) -> None:
    first = make_gguf("m.gguf")
    make_gguf("mmproj-f16.gguf")
    model = read(first.parent)
    assert model.projector == "mmproj-f16.gguf"
    assert model.vision


def test_truncated_weights_are_a_finding(make_gguf: Make) -> None:
    model = read(make_gguf(data=b"\0" * 100))
    assert any(f.startswith("truncated") for f in model.findings)


@pytest.mark.parametrize("layers", [[0, 2], [2, 0]])
def test_layers_without_attention_have_no_cache(layers: list[int], make_gguf: Make) -> None:
    values = {
        "general.architecture": "jamba",
        "jamba.block_count": 2,
        "jamba.embedding_length": 64,
        "jamba.attention.head_count": 4,
        "jamba.attention.head_count_kv": layers,
        "jamba.ssm.inner_size": 128,
        "jamba.ssm.state_size": 16,
        "jamba.ssm.conv_kernel": 4,
    }
    model = read(make_gguf(values=values))
    assert {g.kind: g.layers for g in model.cache} == {"full": 1, "state": 1}


def test_folder_with_shards_and_index(make_folder: Make, safetensors: Bytes) -> None:
    parts = {
        "model-00001-of-00002.safetensors": safetensors({"a": ("BF16", [4, 4], 32)}),
        "model-00002-of-00002.safetensors": safetensors({"b": ("F32", [4], 16)}),
    }
    index = {
        "weight_map": {
            "a": "model-00001-of-00002.safetensors",
            "b": "model-00002-of-00002.safetensors",
        }
    }
    parts["model.safetensors.index.json"] = json.dumps(index).encode()
    model = read(make_folder(files=parts))
    assert (model.format, model.shards, model.weight_bytes) == ("safetensors", 2, 48)
    assert model.types == {"BF16": 1, "F32": 1}


def test_second_copy_is_not_counted(make_folder: Make, safetensors: Bytes) -> None:
    """gpt-oss repositories hold the weights twice; only one copy is loaded."""
    data = safetensors({"a": ("BF16", [4, 4], 32)})
    model = read(make_folder(files={"model.safetensors": data, "consolidated.safetensors": data}))
    assert model.weight_bytes == 32
    assert "second copy" in model.findings[0]


def test_missing_shard_is_said(make_folder: Make, safetensors: Bytes) -> None:
    index = {
        "weight_map": {"a": "x-00001-of-00002.safetensors", "b": "x-00002-of-00002.safetensors"}
    }
    model = read(
        make_folder(
            files={
                "x-00001-of-00002.safetensors": safetensors({"a": ("BF16", [4], 8)}),
                "model.safetensors.index.json": json.dumps(index).encode(),
            }
        )
    )
    assert "missing" in model.findings[0]


def test_index_may_not_point_outside(make_folder: Make) -> None:
    index = {"weight_map": {"a": "../../etc/passwd"}}
    with pytest.raises(IntegrityError, match="outside"):
        read(make_folder(files={"model.safetensors.index.json": json.dumps(index).encode()}))


SCHEMES: list[tuple[dict[str, Any], str, str]] = [
    ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq", "w4a16"),
    ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "gptq", "w8a16"),
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", "fp8-block"),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "modelopt_fp4", "nvfp4"),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, "modelopt", "fp8"),
    ({"quant_method": "mxfp4"}, "mxfp4", "mxfp4"),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes", "bnb-nf4"),
    (
        {
            "quant_method": "compressed-tensors",
            "config_groups": {
                "g": {
                    "weights": {
                        "num_bits": 4,
                        "type": "int",
                        "strategy": "group",
                        "group_size": 128,
                    }
                }
            },
        },
        "compressed-tensors",
        "w4a16",
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "config_groups": {
                "g": {
                    "weights": {"num_bits": 8, "type": "int", "strategy": "channel"},
                    "input_activations": {"num_bits": 8, "type": "int"},
                }
            },
        },
        "compressed-tensors",
        "w8a8-int8",
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "config_groups": {
                "g": {
                    "weights": {
                        "num_bits": 4,
                        "type": "float",
                        "strategy": "tensor_group",
                        "group_size": 16,
                    }
                }
            },
        },
        "compressed-tensors",
        "nvfp4",
    ),
]


@pytest.mark.parametrize(("config", "method", "scheme"), SCHEMES)
def test_the_method_is_what_the_configuration_says(
    config: dict[str, Any], method: str, scheme: str, make_folder: Make
) -> None:
    base = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 100,
    }
    model = read(make_folder({**base, "quantization_config": config}))
    assert model.quantization is not None
    assert (model.quantization.method, model.quantization.scheme) == (method, scheme)


def test_modelopt_keeps_its_own_file(make_folder: Make) -> None:
    own = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4"}}
    model = read(make_folder(files={"hf_quant_config.json": json.dumps(own).encode()}))
    assert model.quantization is not None
    assert model.quantization.scheme == "nvfp4"


def test_thinking_template(make_folder: Make) -> None:
    model = read(make_folder(files={"chat_template.jinja": b"{{ '<think>' }}"}))
    assert model.chat_template
    assert model.thinking


def test_no_pickle_is_opened(make_folder: Make) -> None:
    model = read(make_folder(files={"pytorch_model.bin": b"\x80\x04cos\nsystem\n."}))
    assert model.format == "pytorch"
    assert model.weight_bytes is None


def test_adapter_with_expert_weights(tmp_path: Path, safetensors: Bytes) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": 64, "target_modules": ["q"]}))
    name = "base_model.model.model.layers.0.mlp.experts.3.gate_proj.lora_A.weight"
    (tmp_path / "adapter_model.safetensors").write_bytes(safetensors({name: ("F32", [2, 2], 16)}))
    adapter = read_adapter(tmp_path)
    assert adapter is not None
    assert (adapter.rank, adapter.experts) == (64, True)
    assert read_adapter(tmp_path / "nothing") is None


def test_license_of_the_model_card(make_folder: Make) -> None:
    card = b"---\nlicense: cc-by-nc-4.0\ntags: [x]\n---\n# A model\n"
    assert read(make_folder(files={"README.md": card})).license == "cc-by-nc-4.0"


HOSTILE: list[tuple[str, bytes]] = [
    ("header longer than the file", struct.pack("<Q", 1 << 40) + b"{}"),
    ("no JSON", struct.pack("<Q", 4) + b"\xff\xfe\xfd\xfc"),
    ("a list", struct.pack("<Q", 2) + b"[]"),
    ("too short", b"\0\0"),
    ("nested", struct.pack("<Q", 20_000) + b"[" * 10_000 + b"]" * 10_000),
]


@pytest.mark.parametrize(("what", "data"), HOSTILE, ids=[h[0] for h in HOSTILE])
def test_hostile_safetensors(what: str, data: bytes, make_folder: Make) -> None:
    with pytest.raises(IntegrityError):
        read(make_folder(files={"model.safetensors": data}))


def test_shape_that_is_not_its_bytes(make_folder: Make, safetensors: Bytes) -> None:
    with pytest.raises(IntegrityError, match="is not 8 bytes"):
        read(make_folder(files={"model.safetensors": safetensors({"a": ("F32", [9, 9], 8)})}))


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("counts", b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60)),
        ("version", b"GGUF" + struct.pack("<IQQ", 99, 0, 0)),
        ("big-endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0)),
        ("string", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62) + b"x" * 40),
        (
            "array",
            b"GGUF"
            + struct.pack("<IQQ", 3, 0, 1)
            + struct.pack("<Q", 1)
            + b"k"
            + struct.pack("<IIQ", 9, 4, 1 << 59),
        ),
        ("empty", b""),
        ("magic", b"PK\x03\x04" + b"\0" * 40),
    ],
)
def test_hostile_gguf(what: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(IntegrityError):
        read(path)


def test_hostile_config(make_folder: Make) -> None:
    with pytest.raises(IntegrityError):
        read(make_folder({"hidden_size": -1, "num_hidden_layers": 2}))
    with pytest.raises(IntegrityError):
        read(make_folder({"hidden_size": 64, "num_hidden_layers": 10**9}))
    with pytest.raises(IntegrityError, match="KV heads"):
        read(
            make_folder(
                {
                    "hidden_size": 64,
                    "num_hidden_layers": 2,
                    "num_attention_heads": 2,
                    "num_key_value_heads": 64,
                }
            )
        )


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not there"):
        read(tmp_path / "absent")
    with pytest.raises(UsageError, match="no model"):
        read(tmp_path)


@pytest.mark.parametrize(
    "recipe",
    ["awq", [1], 4, {"quant_method": "awq", "bits": -4}, {"quant_method": "gptq", "bits": 99}],
)
def test_a_recipe_that_is_none_is_not_read_as_unquantised(tmp_path: Path, recipe: Any) -> None:
    config = {"architectures": ["LlamaForCausalLM"], "quantization_config": recipe}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(IntegrityError):
        read(tmp_path)
