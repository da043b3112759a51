"""The verb gate: exit codes, the short form, what-if, explain, one JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial.cli.main import run

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


@pytest.fixture
def workload(tmp_path: Path, model: Path) -> Path:
    path = tmp_path / "workload.yaml"
    body: dict[str, Any] = {
        "schema": "seatrial/workload/1",
        "name": "case",
        "model": {"path": "./m"},
        "hardware": {"gpu": "h100-80gb"},
        "requires": {"context_tokens": 8192},
        "traffic": {"synthetic": {"rate_per_s": 1, "input_tokens": 100, "output_tokens": 50}},
        "candidates": [
            {"engine": "vllm", "version": "0.33.0"},
            {"engine": "tgi", "version": "3.3.7"},
        ],
    }
    path.write_text(yaml.safe_dump(body))
    return path


def test_feasible_is_0(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", str(workload)]) == 0
    out = capsys.readouterr().out
    assert "vllm-0.33.0" in out
    assert "engine_unmaintained" in out


def test_all_out_is_1(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["gate", "--model", str(model), "--gpu", "t4", "--engine", "vllm==0.33.0"])
    assert code == 1
    assert "memory_weights" in capsys.readouterr().out


def test_only_conditional_is_3(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["gate", "--model", str(model), "--gpu", "h100-80gb", "--engine", "llama.cpp"])
    assert code == 3
    assert "convert" in capsys.readouterr().out


def test_json_is_one_document_with_the_agreed_keys(
    workload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", str(workload), "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table["schema"] == "seatrial/gate/1"
    row = table["candidates"][0]
    assert {"candidate", "engine", "version", "verdict", "reasons"} <= set(row)
    keys = {"constraint", "verdict", "says", "numbers", "facts", "remedy"}
    assert all(keys <= set(reason) for reason in row["reasons"])


def test_every_other_engine_follows_in_the_role_landscape(
    workload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["gate", str(workload), "--json"])
    rows = json.loads(capsys.readouterr().out)["candidates"]
    assert [r["role"] for r in rows[:2]] == ["candidate", "candidate"]
    rest = {r["engine"] for r in rows if r["role"] == "landscape"}
    assert {
        "sglang",
        "tensorrt-llm",
        "lmdeploy",
        "llama.cpp",
        "ollama",
        "mlc-llm",
        "transformers",
    } <= rest


def test_what_if_changes_the_answer(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", str(workload), "--what-if", "gpu=t4"]) == 1
    capsys.readouterr()
    changes = ["--what-if", "gpu=t4", "--what-if", "count=4", "--what-if", "tp=4"]
    assert run(["gate", str(workload), *changes]) == 3
    assert "dtype_unsupported" in capsys.readouterr().out


def test_explain_names_the_facts(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["gate", str(workload), "--explain", "tgi"])
    out = capsys.readouterr().out
    assert "fact: huggingface/text-generation-inference@db931fcf README.md" in out
    assert "expires" in out


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (["gate"], "no question"),
        (["gate", "--model", "x", "--engine", "gguf"], "not an engine"),
        (["gate", "--model", "x", "--engine", "kserve"], "serving platform"),
        (["gate", "--model", "x", "--engine", "nonsense"], "no engine called"),
    ],
)
def test_bad_questions_are_2(
    tokens: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tokens) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("change", ["nonsense", "count=many", "=4"])
def test_bad_changes_are_2(change: str, workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", str(workload), "--what-if", change]) == 2
    assert "--what-if" in capsys.readouterr().err


def test_a_damaged_model_is_6(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model / "model.safetensors").write_bytes(b"\xff" * 64)
    assert run(["gate", "--model", str(model), "--gpu", "l4", "--engine", "vllm"]) == 6
    assert "model.safetensors" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--count=0", "--count=-3", "--context=-1", "--context=0", "--concurrency=0"]
)
def test_a_count_that_is_none_is_bad_input(
    option: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", "--model", str(model), "--gpu", "h100-80gb", option]) == 2
    assert "must be above 0" in capsys.readouterr().err


def test_a_senseless_what_if_is_bad_input(
    workload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", str(workload), "--what-if", "count=-2"]) == 2
    assert "hardware.count" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--gpu=t4", "--engine=sglang", "--context=5", "--count=4"])
def test_an_option_beside_a_file_is_not_silently_ignored(
    option: str, workload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", str(workload), option]) == 2
    assert "--what-if" in capsys.readouterr().err
