"""The published JSON schemas of ``doctor --json`` and ``doctor --gpus --json``.

They are generated from the records (``python -m seatrial.hardware.schema`` writes them anew); a
test checks that they have not drifted and that real output obeys them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.hardware.document import DoctorDocument, GpusDocument
from seatrial.store.published import published

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "doctor-1.json": DoctorDocument,
    "doctor-gpus-1.json": GpusDocument,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name)


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
