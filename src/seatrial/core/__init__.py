"""Ground: errors, units, ids, seeds, provenance, verdicts, progress. Imports nothing of ours."""

from seatrial.core.errors import (
    EngineError,
    IntegrityError,
    MeasurementInvalid,
    PrerequisiteError,
    SeatrialError,
    UsageError,
)
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import Provenance, now_utc, provenance
from seatrial.core.verdict import Verdict, worst

__all__ = [
    "EngineError",
    "IntegrityError",
    "MeasurementInvalid",
    "PrerequisiteError",
    "Progress",
    "Provenance",
    "SeatrialError",
    "Silent",
    "UsageError",
    "Verdict",
    "now_utc",
    "provenance",
    "worst",
]
