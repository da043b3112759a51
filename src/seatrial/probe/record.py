"""What probing yields: one record a probe, three findings that never stand in for one another."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from seatrial.core.provenance import Provenance

SCHEMA = "seatrial/probe/1"

Outcome = Literal["pass", "fail", "unknown"]
"""``unknown``: could not be tested here; it is not a pass."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One question put to a live engine.

    Attributes:
        id: what was asked ("json_schema.stream").
        required: whether the workload needs it.
        verdict: pass, fail or unknown.
        evidence: numbers and texts the verdict rests on.
    """

    id: str
    required: bool
    verdict: Outcome
    evidence: dict[str, Any]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict on one of: it loads, it runs on an optimised path, it does the task.

    ``degraded`` is a documented slower path.
    """

    verdict: Literal["pass", "degraded", "fail", "unknown"]
    evidence: dict[str, Any]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """DESIGN 1.4: separate, always all three."""

    loads: Finding
    optimised_path: Finding
    task: Finding


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True):
    """``probe --json`` and ``probes/CANDIDATE.json``."""

    schema: str
    candidate: str
    engine: str
    version: str | None
    endpoint: str
    findings: Findings
    probes: list[Probe]
    effective: dict[str, Any]
    log_findings: list[dict[str, Any]]
    provenance: Provenance

    @property
    def failed_required(self) -> list[Probe]:
        """Required probes that failed."""
        return [p for p in self.probes if p.required and p.verdict == "fail"]

    @property
    def untested_required(self) -> list[Probe]:
        """Required probes that could not be tested."""
        return [p for p in self.probes if p.required and p.verdict == "unknown"]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe function returns; the catalogue adds id and whether it is required."""

    verdict: Outcome
    evidence: dict[str, Any]


def passed(**evidence: Any) -> Answer:
    """It does."""
    return Answer(verdict="pass", evidence=evidence)


def failed(says: str, **evidence: Any) -> Answer:
    """It does not; ``says`` is one sentence."""
    return Answer(verdict="fail", evidence={"says": says, **evidence})


def unknown(says: str, **evidence: Any) -> Answer:
    """It could not be tested; ``says`` is why."""
    return Answer(verdict="unknown", evidence={"says": says, **evidence})
