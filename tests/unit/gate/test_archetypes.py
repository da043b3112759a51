"""Well-known situations, each found in the thread or page that its row names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

DATA = Path(__file__).resolve().parents[2] / "data" / "gate"
CASES = {
    name: case
    for file in sorted(DATA.glob("archetypes-*.yaml"))
    if not file.stem.endswith("-models")
    for name, case in yaml.safe_load(file.read_text()).items()
}


@pytest.mark.parametrize("name", list(CASES))
def test_archetype(name: str, first: Any) -> None:
    case = dict(CASES[name])
    candidate = {k: case[k] for k in ("engine", "version", "args", "env") if k in case}
    asked = {k: case[k] for k in ("model", "hardware", "requires") if k in case}
    row = first({**asked, "candidates": [candidate]})
    said = [f"{r.verdict} {r.constraint}: {r.says}" for r in row.reasons if r.verdict != "feasible"]
    assert row.verdict == case.get("got", case["verdict"]), said
    if case["verdict"] != "feasible" and "got" not in case:
        assert row.reasons[0].constraint in case["constraint"], said
        assert row.reasons[0].remedy
