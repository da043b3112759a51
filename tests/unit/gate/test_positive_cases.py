"""What is known to work must not be struck out: recipes, release notes, measured tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from seatrial import hardware
from seatrial.gate.table import GateTable

DATA = Path(__file__).resolve().parents[2] / "data" / "gate"
CASES = yaml.safe_load((DATA / "positive.yaml").read_text())


@pytest.mark.parametrize("name", list(CASES))
def test_known_to_work(name: str, first: Any) -> None:
    case = dict(CASES[name])
    candidate = {
        "engine": case["engine"],
        "version": case["version"],
        "args": case.get("args", {}),
        "env": case.get("env", {}),
    }
    asked = {k: case[k] for k in ("model", "hardware", "requires", "operations") if k in case}
    row = first({**asked, "candidates": [candidate]})
    bad = [f"{r.verdict} {r.constraint}: {r.says}" for r in row.reasons if r.verdict != "feasible"]
    assert row.verdict == "feasible", bad


def test_a_build_that_is_installed_here_needs_no_other_c_library(
    judge: Callable[..., GateTable], host: hardware.Host
) -> None:
    asked = {
        "model": "llama-8b",
        "hardware": {"cpu": "auto"},
        "candidates": [{"engine": "vllm", "version": "0.32.0"}],
    }
    old = msgspec.structs.replace(host, glibc="2.36")
    for installed, verdict in (({}, "conditional"), ({"vllm": ["0.32.0"]}, "feasible")):
        row = judge(asked, installed=installed, own_host=old).candidates[0]
        said = {r.constraint: str(r.verdict) for r in row.reasons}
        assert said["glibc_too_old"] == verdict
