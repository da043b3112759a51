"""Real situations with a documented outcome: the verdict, the reason and the remedy's kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

DATA = Path(__file__).resolve().parents[2] / "data" / "gate"
CASES = yaml.safe_load((DATA / "documented.yaml").read_text())


@pytest.mark.parametrize("name", list(CASES))
def test_documented_outcome(name: str, first: Any) -> None:
    case = dict(CASES[name])
    candidate = {"engine": case["engine"], "version": case["version"], "args": case.get("args", {})}
    row = first(
        {
            "model": case["model"],
            "hardware": case["hardware"],
            "requires": case.get("requires", {}),
            "candidates": [candidate],
        }
    )
    said = [f"{r.verdict} {r.constraint}: {r.says}" for r in row.reasons]
    assert row.verdict == case["verdict"], said
    if case["verdict"] == "feasible":
        return
    binding = row.reasons[0]
    assert binding.constraint == case["constraint"], said
    assert case["remedy"].lower() in binding.remedy.lower(), binding.remedy
    if "probe" in case:
        assert binding.probe is not None
        assert binding.probe.id == case["probe"]
