"""The published JSON schema of ``lifecycle --json`` (``results`` beside it: one a candidate).

It is generated from the record (``python -m seatrial.lifecycle.schema`` writes it anew); a test
checks that it has not drifted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.lifecycle.record import LifecycleReport
from seatrial.store.published import published

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "lifecycle-1.json": LifecycleReport,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name)


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
