"""The published JSON schemas of ``facts ... --json``.

They are generated from the records (``python -m seatrial.facts.schema`` writes them anew); a test
checks that they have not drifted and that real output obeys them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.facts.diff import FactsDiff
from seatrial.facts.document import ExportDocument, ShowDocument, SyncDocument, VerifyDocument
from seatrial.facts.when import When
from seatrial.store.published import published

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "facts-show-1.json": ShowDocument,
    "facts-diff-1.json": FactsDiff,
    "facts-when-1.json": When,
    "facts-sync-1.json": SyncDocument,
    "facts-verify-1.json": VerifyDocument,
    "facts-export-1.json": ExportDocument,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name)


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
