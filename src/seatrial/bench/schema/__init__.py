"""The published JSON schemas of ``bench``, ``import`` and ``export --json``, and of cell.json.

They are generated from the records (``python -m seatrial.bench.schema`` writes them anew); a test
checks that they have not drifted, and that what the verbs print obeys them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.bench.cell import Cell
from seatrial.bench.document import Bench, Exported, Imported, Sweep
from seatrial.store.published import published

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "cell-1.json": Cell,
    "bench-1.json": Bench,
    "bench-sweep-1.json": Sweep,
    "import-1.json": Imported,
    "export-1.json": Exported,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name)


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
