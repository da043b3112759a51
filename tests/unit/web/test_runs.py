"""A run started from the form: what it needs, what it refuses, how its end is seen."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.web import create_app
from seatrial.web.runs import Runs

TOKEN = {"x-seatrial-token": "t"}
FAKE = "import sys; print('argv', sys.argv[1:]); print('\\x1b[31mred'); sys.exit({code})"


def workload(name: str = "one", *, model: str = "m.gguf", more: str = "") -> str:
    return (
        f"schema: seatrial/workload/1\nname: {name}\nmodel: {{path: {model}}}\n"
        f"traffic: {{people: 5}}\n{more}"
    )


def body(name: str = "one", **given: Any) -> bytes:
    return json.dumps({"name": name, "workload": workload(name, **given)}).encode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    base = tmp_path / "trials"
    base.mkdir()
    (base / "m.gguf").write_bytes(b"GGUF")
    (base / "log.csv").write_text("a,b\n")
    (tmp_path / "outside.gguf").write_bytes(b"GGUF")
    return base


def runs_with(root: Path, code: int = 0, text: str = FAKE) -> Runs:
    return Runs(root, command=(sys.executable, "-c", text.replace("{code}", str(code))))


def ended(runs: Runs) -> Any:
    for _ in range(400):
        run = runs.listed()[0]
        if run.exit_code is not None:
            return run
        time.sleep(0.05)
    raise AssertionError("the run did not end")


@pytest.mark.parametrize("code", [0, 3, 4])
def test_the_end_of_a_run_is_followed(root: Path, code: int) -> None:
    runs = runs_with(root, code)
    started = runs.start(body())
    assert started.exit_code is None
    run = ended(runs)
    assert run.exit_code == code
    assert run.ended_ns > run.started_ns
    assert str(root / "one") in run.says
    assert "\x1b" not in run.says
    assert (root / "one.workload.yaml").read_text() == workload()


def test_the_form_starts_what_it_shows_and_needs_the_token(
    root: Path, ask: Callable[..., Any]
) -> None:
    runs = runs_with(root)
    app = create_app(root, token="t", runs=runs)
    assert ask(app, "/runs.json", method="POST", body=body()).status == 403
    assert runs.listed() == []
    foreign = {**TOKEN, "origin": "http://evil.example"}
    assert ask(app, "/runs.json", method="POST", body=body(), headers=foreign).status == 403
    answer = ask(app, "/runs.json", method="POST", body=body(), headers=TOKEN)
    assert answer.status == 200
    ended(runs)
    twin = ask(app, "/new.json").json()
    assert [r["name"] for r in twin["runs"]] == ["one"]
    assert twin["inputs"] == {"traces": ["log.csv"], "models": ["m.gguf"]}
    assert twin["workload_schema"]["title"] == "seatrial/workload/1"


def test_one_run_at_a_time(root: Path) -> None:
    runs = runs_with(root, text="import time; time.sleep(60)")
    first = runs.start(body())
    with pytest.raises(PrerequisiteError, match="a run is working already: one"):
        runs.start(body("two"))
    assert not (root / "two.workload.yaml").exists()
    os.kill(first.pid, 15)
    assert ended(runs).exit_code == -15


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("../evil", workload("../evil")),
        (".hidden", workload(".hidden")),
        ("a/b", workload("a/b")),
        ("A b", workload("A b")),
        ("", workload("x")),
        ("one", workload("two")),
        ("one", workload("one", model="../outside.gguf")),
        ("one", workload("one", model="/etc/passwd")),
        ("one", "not: a workload"),
        ("one", "x" * 70_000),
        (
            "one",
            workload("one", more="candidates: [{engine: llama.cpp, env: {LD_PRELOAD: x.so}}]"),
        ),
        (
            "one",
            workload("one", more="candidates: [{engine: llama.cpp, args: {log_file: /etc/x}}]"),
        ),
        ("one", workload("one", more="candidates: [{engine: vllm, args: {a: ../../x}}]")),
    ],
)
def test_what_leads_elsewhere_starts_nothing(root: Path, name: str, text: str) -> None:
    runs = runs_with(root)
    with pytest.raises(UsageError):
        runs.start(json.dumps({"name": name, "workload": text}).encode())
    assert runs.listed() == []
    assert sorted(p.name for p in root.iterdir()) == ["log.csv", "m.gguf"]


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b'{"name": "one"}', b'{"name":1,"workload":2}', b"\xff"]
)
def test_what_the_form_does_not_send_is_refused(root: Path, raw: bytes) -> None:
    with pytest.raises(UsageError, match="not what the form sends"):
        runs_with(root).start(raw)


def test_a_workload_that_is_there_is_not_overwritten(root: Path) -> None:
    (root / "one.workload.yaml").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        runs_with(root).start(body())
    (root / "two").symlink_to(root.parent)
    with pytest.raises(UsageError, match="is a link"):
        runs_with(root).start(body("two"))
    assert (root / "one.workload.yaml").read_text() == "mine"
