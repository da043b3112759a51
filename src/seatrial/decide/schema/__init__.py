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
from seatrial.store.published import published

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "plan-1.json": Plan,
    "decision-1.json": Decision,
    "diff-1.json": Diff,
    "watch-1.json": Watch,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name)


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
