"""The elimination table: what the gate says of each candidate, the binding reason first."""

from __future__ import annotations

import msgspec

from seatrial.core.provenance import Provenance
from seatrial.core.verdict import Verdict

SCHEMA = "seatrial/gate/1"
Number = int | float | str | bool | None


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What would settle an ``unknown``: probe id, the command, and its rough cost in minutes."""

    id: str
    command: str
    minutes: float | None


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One constraint's finding upon one candidate.

    ``says`` is a sentence with the numbers put in; ``numbers`` are the same for programs;
    ``facts`` are ids that resolve in facts.json; ``remedy`` is the cheapest change that would
    turn it, empty for a pass.
    """

    constraint: str
    verdict: Verdict
    says: str
    numbers: dict[str, Number]
    facts: list[str]
    remedy: str
    probe: Probe | None = None


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate. ``candidate`` is its id, the name of its folder under ``cells/``."""

    candidate: str
    engine: str
    version: str | None
    verdict: Verdict
    reasons: list[Reason]
    role: str = "candidate"
    order: int | None = None  # place in the prior order of trials; a prior, not a verdict


class GateTable(msgspec.Struct, frozen=True, kw_only=True):
    """gate.json"""

    schema: str
    candidates: list[GateRow]
    provenance: Provenance
