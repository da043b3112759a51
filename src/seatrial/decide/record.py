"""decision.json: what was chosen, by which steps, on which inputs, and what would change it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from seatrial.core.provenance import Provenance
from seatrial.stats.compare import Comparison
from seatrial.stats.interval import Interval

SCHEMA = "seatrial/decision/1"
OutcomeName = Literal["selected", "tie", "undecided", "none_feasible"]


class Differing(msgspec.Struct, frozen=True, kw_only=True):
    """A comparability field whose value is not the same in all contenders."""

    field: str
    values: dict[str, Any]


class ComparisonKind(msgspec.Struct, frozen=True, kw_only=True):
    """``engines`` only when every comparability field is equal; else ``deployments``."""

    kind: Literal["engines", "deployments"]
    differs: list[Differing]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of one candidate; ``start_values`` are one row per valid start.

    Values are in the metric's unit; latencies over the requests that completed in every start of
    every candidate (what is compared), goodput over all that were offered.
    """

    candidate: str
    role: str
    starts: int
    valid: int
    requests: int
    start_values: list[dict[str, float | None]]


class SloCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One SLO upon one candidate.

    ``attained`` is the share of requests (or the value) with its interval; ``needed`` what the
    SLO asks of it. ``verdict``: met (shown), missed (shown), unproven (neither).
    """

    candidate: str
    slo: str
    limit: float
    value: float | None
    attained: Interval | None
    needed: float | None
    verdict: Literal["met", "missed", "unproven"]
    says: str


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that was on trial and is out, with the constraint that binds."""

    candidate: str
    constraint: str
    says: str
    remedy: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the rule: what it read (name -> SHA-256), what it found."""

    rule: str
    says: str
    inputs: dict[str, str]


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What would change the decision.

    Attributes:
        what: ``margin``, ``slo.ttft_ms.p95``, ``traffic``, ``usd_per_hour``, ``quality_margin``...
        now: its value in this decision; turns_at: where the choice turns; None when it does not
            turn anywhere in the range that was measured.
        to: outcome or candidate it turns to.
        basis: ``measured``, or ``bound`` where only one side can be said.
    """

    what: str
    now: float | None
    turns_at: float | None
    to: str
    basis: Literal["measured", "bound"]
    says: str


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """When to go back. ``promql`` is null where the engine has no such metric."""

    metric: str
    threshold: float
    unit: str
    window: str
    promql: str | None
    says: str


class Rollback(msgspec.Struct, frozen=True, kw_only=True):
    """``trigger`` is the one to act on, ``warnings`` are seen before it; ``previous`` is the way
    back: the engine that ran before, else the best of the others."""

    trigger: Trigger | None
    warnings: list[Trigger]
    previous: str | None
    previous_because: str


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Price of what was delivered within every SLO at the load of the trial.

    usd_per_million_output_tokens = usd_per_hour / (3600 * output_tokens_per_s * goodput) * 1e6.
    At an arrival rate below what the candidate can carry this is an upper bound.
    """

    candidate: str
    usd_per_hour: float
    good_output_tokens_per_s: Interval
    usd_per_million_output_tokens: Interval


class Operating(msgspec.Struct, frozen=True, kw_only=True):
    """What a candidate costs to run: null where it was not measured."""

    candidate: str
    weights_bytes: int | None
    image_bytes: int | None
    rss_peak_bytes: float | None
    gpu_mem_peak_bytes: float | None
    cold_start_s: float | None
    recovery_s: float | None
    drain_lost: int | None
    upgrade_s: float | None
    rollback_s: float | None


class PlatformNeed(msgspec.Struct, frozen=True, kw_only=True):
    """A feature that the workload asks of the platform, and which layer must bring it."""

    feature: str
    layer: Literal["engine", "serving platform"]
    provided: bool | None
    says: str


class EvidenceCell(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure further."""

    candidate: str
    starts: int
    why: str


class EvidenceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What would settle it, how long it takes, what it could change.

    ``extend_to``: the number of starts for ``seatrial plan TRIAL --extend``; None where more starts
    are not what is missing.
    """

    cells: list[EvidenceCell]
    minutes: float | None
    could_change: str
    extend_to: int | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """decision.json and ``decide --json``.

    ``resolution``: metric -> the smallest difference that the last look at it could have shown as
    better (margin and half of the interval; a ratio minus 1, or share points). Smaller ones are
    beyond this trial.
    """

    schema: str
    outcome: OutcomeName
    selected: str | None
    comparison: ComparisonKind
    ranked_by: list[str]
    margin: float
    alpha: float
    measured: list[Measured]
    slo: list[SloCheck]
    excluded: list[Excluded]
    not_on_trial: list[Excluded]
    comparisons: list[Comparison]
    secondary: list[Comparison]
    equivalent: list[str]
    resolution: dict[str, float] = {}
    set_aside: list[str]
    caveats: list[str]
    reasons: list[str]
    would_change: list[Turn]
    rollback: Rollback
    costs: list[Cost]
    operations: list[Operating]
    platform: list[PlatformNeed] = []
    evidence_request: EvidenceRequest | None
    trace: list[Step]
    provenance: Provenance
