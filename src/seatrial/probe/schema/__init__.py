"""The published JSON schemas of ``probe --json`` (``results`` beside it: one report a candidate)
and of each result of ``probe --family``.

It is generated from the record (``python -m seatrial.probe.schema`` writes it anew); a test
checks that it has not drifted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.probe.family.record import FamilyReport
from seatrial.probe.record import ProbeReport
from seatrial.store.published import published

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "probe-1.json": ProbeReport,
    "family-1.json": FamilyReport,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name)


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
