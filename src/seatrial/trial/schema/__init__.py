"""The published JSON schema of ``engines tune --json`` and of tuning/tuning.json.

It is generated from the record (``python -m seatrial.trial.schema`` writes it anew); a test checks
that it has not drifted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.store.published import published
from seatrial.trial.effort import Tuning

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "tuning-1.json": Tuning,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name)


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
