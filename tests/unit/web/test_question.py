"""The form's question to the gate: read only, confined, and every error told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.web import create_app

HEADERS = {"x-seatrial-token": "t"}
TEXT = (
    "schema: seatrial/workload/1\nname: made-up\nmodel: {path: model}\n"
    "traffic: {people: 200}\nhardware: {gpu: h100-80gb, count: 1}\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    base = tmp_path / "trials"
    model = base / "model"
    model.mkdir(parents=True)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
    }
    (model / "config.json").write_bytes(msgspec.json.encode(config))
    (tmp_path / "outside").mkdir()
    return base


@pytest.fixture
def post(root: Path, ask: Callable[..., Any]) -> Callable[[str], Any]:
    app = create_app(root, token="t")
    return lambda text: ask(app, "/gate.json", headers=HEADERS, method="POST", body=text.encode())


def test_the_gate_answers_while_it_is_written(post: Callable[[str], Any]) -> None:
    found = post(TEXT)
    assert found.status == 200, found.body[:500]
    document = found.json()
    rows = document["gate"]["candidates"]
    assert len({r["engine"] for r in rows}) >= 5
    assert all(r["verdict"] and r["reasons"] for r in rows)
    people = document["people"]
    assert people["low_per_s"] <= people["rate_per_s"] <= people["high_per_s"]
    assert people["assumption"]


def test_every_error_of_the_text_is_told(post: Callable[[str], Any]) -> None:
    answer = post(TEXT + "sloo: {}\ntrial: {starts: many}\n")
    assert answer.status == 400
    said = str(answer.json())
    assert "sloo" in said
    assert "starts" in said


@pytest.mark.parametrize("path", ["../outside", "/etc", "model/../../outside", "~", "org/model"])
def test_a_path_that_leads_elsewhere_is_refused(path: str, post: Callable[[str], Any]) -> None:
    answer = post(TEXT.replace("path: model", f"path: {path!r}"))
    assert answer.status == 400
    assert answer.json()["what"] == "there is no such thing in the trials folder"


def test_a_text_that_is_too_long_is_refused(post: Callable[[str], Any]) -> None:
    assert post("# " + "x" * 70_000).status == 400


def test_it_needs_the_token(root: Path, ask: Callable[..., Any]) -> None:
    app = create_app(root, token="t")
    assert ask(app, "/gate.json", method="POST", body=TEXT.encode()).status == 403
    assert not (root / "made-up").exists()
