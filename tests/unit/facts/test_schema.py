"""The published schemas of ``facts`` are those of its records, and its output obeys them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from seatrial.cli.main import run
from seatrial.facts import schema


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine's user."""
    monkeypatch.setenv("SEATRIAL_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("name", schema.DOCUMENTS)
def test_published_schemas_have_not_drifted(name: str) -> None:
    assert json.loads((schema.folder() / name).read_bytes()) == schema.schema_of(name)


def obeys(name: str, out: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(out)
    jsonschema.validate(document, schema.schema_of(name))
    assert document["schema"] == schema.schema_of(name)["title"]
    return document


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["show", "vllm==0.33.0", "--subject", "gptq"], "facts-show-1.json"),
        (["show", "sglang", "--conflicts"], "facts-show-1.json"),
        (["show", "vllm==0.33.0", "--subject", "NoSuchForCausalLM"], "facts-show-1.json"),
        (["diff", "vllm==0.23.0", "vllm==0.24.0"], "facts-diff-1.json"),
        (["when", "vllm", "gguf", "--offline"], "facts-when-1.json"),
        (["export", "mlc-llm"], "facts-export-1.json"),
    ],
)
def test_real_output_obeys(
    arguments: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["facts", *arguments, "--json"]) in (0, 1)
    obeys(name, capsys.readouterr().out)


def test_an_export_to_a_file_obeys_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "facts.json"
    assert run(["facts", "export", "mlc-llm", "--out", str(place), "--json"]) == 0
    assert obeys("facts-export-1.json", capsys.readouterr().out)["written"] == str(place)
    obeys("facts-export-1.json", place.read_text())


def test_sync_of_a_tree_obeys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tree = tmp_path / "ollama"
    (tree / "convert").mkdir(parents=True)
    cases = "".join(f'\tcase "Made{i}ForCausalLM":\n' for i in range(20))
    (tree / "convert/convert.go").write_text(
        f'switch p.Architectures[0] {{\n\tcase "LlamaForCausalLM":\n{cases}}}\n'
    )
    assert run(["facts", "sync", "ollama==9.9.9", "--from", str(tree), "--json"]) == 0
    [read] = obeys("facts-sync-1.json", capsys.readouterr().out)["read"]  # type: ignore[misc]
    assert read["engine"] == "ollama"
