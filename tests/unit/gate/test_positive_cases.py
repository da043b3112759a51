"""What is known to work must not be struck out: recipes, release notes, measured tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

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
