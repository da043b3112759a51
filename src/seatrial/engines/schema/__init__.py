"""The published JSON schemas of ``engines ... --json`` and of an environment's record.

They are generated from the records (``python -m seatrial.engines.schema`` writes them anew); a test
checks that they have not drifted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.engines.document import EngineList, Removed, Started, Stopped
from seatrial.engines.environment import Environment
from seatrial.store.published import published

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "engine-environment-1.json": Environment,
    "engines-list-1.json": EngineList,
    "engines-start-1.json": Started,
    "engines-stop-1.json": Stopped,
    "engines-remove-1.json": Removed,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name)


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
