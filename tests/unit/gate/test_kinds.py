"""Situations of every kind that the gate knows, each with its verdict and reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

DATA = Path(__file__).resolve().parents[2] / "data" / "gate"
CASES = yaml.safe_load((DATA / "kinds.yaml").read_text())
_KEYS = ("model", "hardware", "requires", "operations", "platform", "portability", "slo")


@pytest.mark.parametrize("name", list(CASES))
def test_verdict_and_reason(name: str, first: Any) -> None:
    case = dict(CASES[name])
    candidate = {
        "engine": case["engine"],
        "version": case["version"],
        "args": case.get("args", {}),
        "env": case.get("env", {}),
    }
    row = first({**{k: case[k] for k in _KEYS if k in case}, "candidates": [candidate]})
    said = [f"{r.verdict} {r.constraint}: {r.says}" for r in row.reasons]
    assert (row.verdict, row.reasons[0].constraint) == (case["verdict"], case["constraint"]), said
    assert case["remedy"].lower() in row.reasons[0].remedy.lower(), row.reasons[0].remedy
