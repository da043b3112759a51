"""What the lifecycle trials yield: times and losses, each against its limit if there is one."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from seatrial.core.provenance import Provenance

SCHEMA = "seatrial/lifecycle/1"

Outcome = Literal["pass", "fail", "no_limit", "unknown"]
"""``no_limit``: measured, and the workload names no limit for it."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One trial: ``value`` in ``unit`` against ``limit``; what was seen is in ``evidence``.

    ``at``: when it ended (UTC); earlier than the report where it was kept from an earlier one.
    """

    id: str
    verdict: Outcome
    value: float | None
    limit: float | None
    unit: str
    evidence: dict[str, Any]
    at: str | None = None


class NotRun(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that could not be made here, and why: a report counts these."""

    id: str
    because: str


class Drain(msgspec.Struct, frozen=True, kw_only=True):
    """SIGTERM with requests in flight.

    ``in_flight`` = finished + cut; ``refused`` are requests sent after the signal that got no
    answer; ``s`` from the signal to the end of the process; ``killed`` if only SIGKILL ended it.
    """

    in_flight: int
    finished: int
    cut: int
    refused: int
    s: float
    killed: bool


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of version behind a router: ``s`` from the order until only the new one serves.

    ``lost`` and ``served`` are requests that ended without and with a finish_reason in that time;
    ``open_at_switch`` of them were in flight when the router was pointed at the new engine: those
    a careless change would lose. ``old_cpus`` and ``new_cpus``: what each engine was kept to (None:
    nothing), since both run on one machine.
    """

    s: float
    lost: int
    served: int
    open_at_switch: int
    old_cpus: list[int] | None
    new_cpus: list[int] | None
    old: str
    new: str
    router: str


class LifecycleReport(msgspec.Struct, frozen=True, kw_only=True):
    """``lifecycle --json`` and ``lifecycle/CANDIDATE.json``."""

    schema: str
    candidate: str
    engine: str
    version: str
    cold_start_s: dict[str, float | None]
    warm_start_s: dict[str, float | None] | None
    drain: Drain | None
    recovery_s: float | None
    upgrade: Change | None
    rollback: Change | None
    trials: list[Trial]
    not_run: list[NotRun]
    provenance: Provenance

    @property
    def failed(self) -> list[Trial]:
        """Trials over their limit."""
        return [t for t in self.trials if t.verdict == "fail"]


def judged(
    name: str, value: float | None, limit: float | None, *, unit: str = "s", **evidence: Any
) -> Trial:
    """A trial's verdict: at most the limit is a pass; no value is unknown."""
    verdict: Outcome = "no_limit"
    if value is None:
        verdict = "unknown"
    elif limit is not None:
        verdict = "pass" if value <= limit else "fail"
    return Trial(id=name, verdict=verdict, value=value, limit=limit, unit=unit, evidence=evidence)
