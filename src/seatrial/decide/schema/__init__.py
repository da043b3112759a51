"""The published JSON schemas of plan.json, decision.json, ``diff --json`` and ``watch --json``.

They are generated from the records (``python -m seatrial.decide.schema`` writes them anew); a test
checks that they have not drifted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.decide.diff import Diff
from seatrial.decide.record import Decision
from seatrial.decide.watch import Watch
from seatrial.plan.record import Plan

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "plan-1.json": Plan,
    "decision-1.json": Decision,
    "diff-1.json": Diff,
    "watch-1.json": Watch,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    schema = msgspec.json.schema(DOCUMENTS[name])
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"seatrial/{name.removesuffix('.json').replace('-', '/')}"
    return schema


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
