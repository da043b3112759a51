"""The verbs engines and probe on a machine without an engine, and at an endpoint."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from seatrial.cli.main import run
from seatrial.probe.schema import schema_of


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEATRIAL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def mock_url() -> Iterator[str]:
    command = [sys.executable, "-m", "seatrial.mock", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())["url"]
    process.terminate()
    process.wait(10)
    process.stdout.close()


def test_an_empty_machine_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["engines", "list"]) == 0
    said = capsys.readouterr()
    assert "no engine is installed" in said.out
    assert "seatrial engines install llama.cpp" in said.err


def test_list_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["engines", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["running"] == []


def test_stopping_nothing_and_stopping_strangers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["engines", "stop"]) == 0
    assert run(["engines", "stop", "1"]) == 2
    assert "has started no engine with pid 1" in capsys.readouterr().err


def test_what_is_not_installed_names_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = tmp_path / "m.gguf"
    model.write_bytes(b"GGUF")
    assert run(["engines", "start", "llama.cpp", "--model", str(model), "--version", "1"]) == 3
    assert "seatrial engines install llama.cpp==1" in capsys.readouterr().err
    assert run(["engines", "start", "llama.cpp", "--model", "nowhere"]) == 2
    assert run(["engines", "start", "lama", "--model", str(model)]) == 2
    assert run(["engines", "install", "word"]) == 2


def test_probe_needs_something_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe"]) == 2
    assert run(["probe", "--endpoint", "http://127.0.0.1:9"]) == 4
    assert "Traceback" not in capsys.readouterr().err


def test_probe_at_an_endpoint(mock_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--only", "answers", "--only", "streaming", "--only", "usage", "--json", "--quiet"]
    assert run(["probe", "--endpoint", mock_url, *asked]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "seatrial/probe/1"
    assert set(document["findings"]) == {"loads", "optimised_path", "task"}
    assert [p["id"] for p in document["probes"]] == ["answers", "streaming", "usage"]
    assert {"id", "required", "verdict", "evidence"} <= set(document["probes"][0])
    jsonschema.validate(document, schema_of("probe-1.json"))


def test_lifecycle_refuses_unknown_trials(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["lifecycle", str(tmp_path / "w.yaml"), "--only", "explode"]) == 2
    assert "one of: start, drain" in capsys.readouterr().err
