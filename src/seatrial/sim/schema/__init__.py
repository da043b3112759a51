"""The published JSON schemas of the predicting verbs and of the files that hold predictions.

``capacity``, ``whatif``, ``sim validate``, ``sim timeline``, ``sim score`` with ``--json``, and
``predictions/*.json`` of a trial. Generated from the records (``python -m seatrial.sim.schema``
writes them anew); a test checks that they have not drifted. The plan's own schema lies with the
decision's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.sim.capacity import Capacity
from seatrial.sim.frozen import Prediction, Score
from seatrial.sim.result import Timeline
from seatrial.sim.validate import Validation
from seatrial.sim.whatif import WhatIf
from seatrial.store.published import published

DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "capacity-1.json": Capacity,
    "prediction-1.json": Prediction,
    "sim-score-1.json": Score,
    "sim-timeline-1.json": Timeline,
    "sim-validate-1.json": Validation,
    "whatif-1.json": WhatIf,
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of one document."""
    return published(DOCUMENTS, name, named="$id")


def folder() -> Path:
    """Where the schemas lie."""
    return Path(__file__).parent
