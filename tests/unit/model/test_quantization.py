"""What of a quantised checkpoint is stored in how many bits: modules left out, types by name."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from seatrial.model import memory, read
from seatrial.model.unconverted import unconverted

LAYERS = 8
BODY: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 4096,
    "vocab_size": 32000,
    "torch_dtype": "bfloat16",
}
ATTENTION = LAYERS * 1024 * (1024 + 256 + 256 + 1024)
DENSE = LAYERS * 3 * 1024 * 4096
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


def _model(folder: Path, listed: list[str], **more: Any) -> Any:
    quant = {"quant_method": "fbgemm_fp8", "modules_to_not_convert": listed}
    (folder / "config.json").write_text(json.dumps({**BODY, **more, "quantization_config": quant}))
    return read(folder)


def _of_meta() -> list[str]:
    """As published with Llama-3.1-405B-Instruct-FP8: attention, and the first and last layer."""
    found = [f"model.layers.{n}.self_attn.{p}" for n in range(LAYERS) for p in PROJECTIONS]
    parts = ("gate_proj", "up_proj", "down_proj")
    return found + [f"model.layers.{n}.mlp.{p}" for n in (0, LAYERS - 1) for p in parts]


@pytest.mark.parametrize(
    ("listed", "left"),
    [
        ([], 0),
        (["lm_head", "visual"], 0),
        (_of_meta(), ATTENTION + DENSE * 2 // LAYERS),
        (["model.layers.*.self_attn"], ATTENTION),
        (["self_attn"], ATTENTION),
        (["re:.*self_attn"], ATTENTION),
        (["re:.*\\.self_attn\\.q_proj$"], LAYERS * 1024 * 1024),
        (["model.layers.*.self_attn.k_proj"], LAYERS * 1024 * 256),
        (["model.layers.*.mlp.gate"], 0),
        (["model.layers.0", "model.layers.1"], (ATTENTION + DENSE) * 2 // LAYERS),
        (["model.layers.1.self_attn"], ATTENTION // LAYERS),
        (["model.layers.0.mlp.gate"], 0),
        (["0", "layers", "model"], 0),
        (["re:(a+)+$", "re:.*(self_attn|mlp)"], 0),
    ],
)
def test_listed_modules_are_counted(tmp_path: Path, listed: list[str], left: int) -> None:
    assert unconverted(_model(tmp_path, listed)) == left


def test_they_weigh_sixteen_bits(tmp_path: Path) -> None:
    whole = memory.weight_bytes(_model(tmp_path, []))
    part = memory.weight_bytes(_model(tmp_path, ["self_attn"]))
    assert whole is not None
    assert part is not None
    assert part.best - whole.best == pytest.approx(ATTENTION, rel=0.01)


def test_a_hostile_list_takes_no_time(tmp_path: Path) -> None:
    stars = ["*a" * 200 + str(n) for n in range(5000)]
    model = _model(tmp_path, stars, num_hidden_layers=2000)
    began = time.process_time()
    for _ in range(30):  # as many candidates ask
        unconverted(model)
    assert time.process_time() - began < 10


def test_quark_says_its_type_in_its_own_words(tmp_path: Path) -> None:
    def stored(weight: Any, inputs: dict[str, Any] | None) -> tuple[str, float]:
        every = {"weight": weight, "input_tensors": inputs}
        quant = {"quant_method": "quark", "global_quant_config": every, "exclude": ["lm_head"]}
        (tmp_path / "config.json").write_text(json.dumps({**BODY, "quantization_config": quant}))
        found = read(tmp_path).quantization
        assert found is not None
        assert found.skipped == ["lm_head"]
        return found.scheme, memory.effective_bits(read(tmp_path))

    eight = {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}
    assert stored(eight, eight) == ("fp8", 8.0)
    assert stored(eight, None) == ("w8a16-fp8", 8.0)
    four = {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}
    assert stored(four, four) == ("mxfp4", 4.25)
    assert stored({"dtype": "other"}, None) == ("quark", 8.0)
    assert stored([eight, {"dtype": "int4"}], eight) == ("w4a16", 4.0)


@pytest.mark.parametrize(
    ("said", "bits"),
    [
        ({"quant_method": "eetq", "weights": "int8"}, 8.0),
        ({"quant_method": "quanto", "weights": "int4"}, 4.0),
        ({"quant_method": "torchao", "quant_type": "int8_weight_only"}, 8.0),
        ({"quant_method": "torchao", "quant_type": "int8_dynamic_activation_int4_weight"}, 4.0),
        (
            {
                "quant_method": "torchao",
                "quant_type": {"default": {"_type": "Float8DynamicActivationInt4WeightConfig"}},
            },
            4.0,
        ),
        ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnly"}}}, 4.0),
        (
            {
                "quant_method": "torchao",
                "quant_type": {"default": {"_type": "Float8DynamicActivationFloat8WeightConfig"}},
            },
            8.0,
        ),
        ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 3}}}, 3.0),
        ({"quant_method": "exl2", "bits": 4.25}, 4.25),
        ({"quant_method": "aqlm"}, 4.0),
        ({"quant_method": "aqlm", "nbits_per_codebook": 16, "in_group_size": 8}, 2.0),
    ],
)
def test_bits_are_read_from_a_types_name(tmp_path: Path, said: dict[str, Any], bits: float) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**BODY, "quantization_config": said}))
    found = read(tmp_path).quantization
    assert found is not None
    assert found.bits == bits
