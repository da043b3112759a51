"""The GitHub Action and the gate before deployment in examples/: their form, and what they do."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial.cli.main import VERBS


@pytest.fixture
def place(repo_root: Path) -> Path:
    return repo_root / "examples" / "action"


def test_the_action_is_a_composite_one_whose_commands_exist(place: Path) -> None:
    action = yaml.safe_load((place / "action.yml").read_text())
    assert {"name", "description", "inputs", "runs"} <= action.keys()
    assert action["runs"]["using"] == "composite"
    for name, given in action["inputs"].items():
        assert given["description"], name
        assert isinstance(given["default"], str), name
    used = set()
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input in a script is an injection"
        for value in step.get("env", {}).values():
            used |= set(re.findall(r"inputs\.([\w-]+)", value))
        used |= set(re.findall(r"inputs\.([\w-]+)", step.get("if", "")))
        assert set(re.findall(r"seatrial (\w+) ", step["run"])) <= VERBS.keys()
        for script in re.findall(r"GITHUB_ACTION_PATH/([\w.-]+)", step["run"]):
            assert (place / script).stat().st_mode & stat.S_IXUSR
    assert used == set(action["inputs"])


def test_the_workflow_uses_the_action_with_inputs_that_it_has(place: Path) -> None:
    action = yaml.safe_load((place / "action.yml").read_text())
    workflow = yaml.safe_load((place / "workflow.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    ours = [step for step in steps if step.get("uses") == "./examples/action"]
    assert ours
    for step in ours:
        assert step["with"].keys() <= action["inputs"].keys()
    assert all(job["permissions"] == {"contents": "read"} for job in workflow["jobs"].values())


@pytest.fixture
def gate(place: Path, tmp_path: Path) -> Any:
    """``gate(trial, candidate)``: pre-deploy.sh with this tree's seatrial on the PATH."""
    tool = tmp_path / "bin" / "seatrial"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m seatrial "$@"\n')
    tool.chmod(0o755)
    path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"

    def ask(trial: Path, candidate: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(place / "pre-deploy.sh"), str(trial), candidate],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return ask


def test_only_what_the_trial_selected_may_be_deployed(
    gate: Any, make_trial: Any, tmp_path: Path
) -> None:
    folder = make_trial({"a": 1.0, "b": 1.4}, starts=3, requests=100).write(tmp_path / "t")
    assert gate(folder, "a").returncode == 0
    refused = gate(folder, "b")
    assert refused.returncode == 1
    assert "not to be deployed" in refused.stdout + refused.stderr
    assert gate(folder, '"; exit 0; "').returncode == 1


def test_without_a_decision_nothing_may_be_deployed(
    gate: Any, make_trial: Any, tmp_path: Path
) -> None:
    folder = make_trial({"a": 1.0}, starts=1, requests=20).write(tmp_path / "t")
    assert gate(folder, "a").returncode == 3
    assert gate(tmp_path / "nowhere", "a").returncode not in (0, 1)
