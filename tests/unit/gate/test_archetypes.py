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
def test_archetype(name: str, as_documented: Any) -> None:
    as_documented(CASES[name])
