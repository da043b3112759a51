"""What family trials yield: small tables with their sentence, and what was not made."""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.core.provenance import Provenance

SCHEMA = "seatrial/family/1"
Value = int | float | str | bool | None


class FamilyTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One trial.

    Attributes:
        id: ``load_unload``, ``context_sweep``, ``bursts``, ``grammar_cost``, ...
        says: the finding in one sentence.
        columns: headings with their units; ``rows``: the values, one list a row, None unknown.
    """

    id: str
    says: str
    columns: list[str]
    rows: list[list[Value]]


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that could not be made here, and why."""

    id: str
    because: str


class FamilyReport(msgspec.Struct, frozen=True, kw_only=True):
    """families/CANDIDATE.FAMILY.json."""

    schema: str
    candidate: str
    engine: str
    version: str
    family: str
    because: str
    trials: list[FamilyTrial]
    not_run: list[Skipped]
    effective: dict[str, Any]
    provenance: Provenance
