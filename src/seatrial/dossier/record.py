"""dossier.json: everything the dossier shows, as data. HTML and Markdown are views of it.

The schema is published (``seatrial/dossier/1``). Texts are already harmless (no control or bidi
characters) and already redacted where that was asked for; they are not HTML.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from seatrial.charts import Figure
from seatrial.core.provenance import Provenance
from seatrial.dossier.predicted import PredictedPart
from seatrial.stats.interval import Interval

SCHEMA = "seatrial/dossier/1"
Outcome = Literal["selected", "tie", "undecided", "none_feasible", "not_decided"]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The first screen: what was chosen, how sure, what it rests on, when to go back.

    ``following``: where nothing was chosen, what to do next.
    """

    outcome: Outcome
    headline: str
    chosen: list[str]
    sure: list[str]
    caveats: list[str]
    rests_on: list[str]
    go_back: list[str]
    following: list[str]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What would change the decision: its value now, where the choice turns, and to what."""

    what: str
    now: str
    at: str
    to: str
    says: str
    basis: str


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """low, best, high; None is an open end or not known."""

    low: float | None
    best: float | None
    high: float | None


class SloLine(msgspec.Struct, frozen=True, kw_only=True):
    """One SLO upon one candidate; ``attained`` is the share of requests within its limit."""

    candidate: str
    slo: str
    limit: float | None
    value: float | None
    attained: Span | None
    needed: float | None
    verdict: str
    says: str


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """``a`` against ``b`` over server starts; ``decided`` if the rule used it."""

    metric: str
    a: str
    b: str
    outcome: str
    scale: str
    ratio: Span | None
    delta: Span | None
    margin: float | None
    starts: list[int]
    decided: bool


class PlatformRow(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity of running it; ``values`` in the order of the measured candidates."""

    key: str
    unit: str
    values: list[Span | None]


class NeedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A feature asked of the platform; ``provided`` None where this trial cannot know it."""

    feature: str
    layer: str
    provided: bool | None
    says: str


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """Deployment files (name -> text) of the selected candidate, else why there are none."""

    candidate: str
    files: dict[str, str]
    because: str


class StepLine(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the decision's rule: what it found, hashes of what it read."""

    rule: str
    says: str
    inputs: dict[str, str]


class ReasonLine(msgspec.Struct, frozen=True, kw_only=True):
    """One reason of the elimination table; ``facts`` are ids that stand in ``facts``."""

    constraint: str
    verdict: str
    says: str
    numbers: dict[str, Any]
    facts: list[str]
    remedy: str
    probe: str


class EliminationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate of the elimination table, the binding reason first."""

    candidate: str
    engine: str
    version: str | None
    verdict: str
    role: str
    stage: str
    reasons: list[ReasonLine]


class FactLine(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that a reason rests on, with its source and its age on the day of the trial."""

    id: str
    engine: str
    version: str
    predicate: str
    subject: str
    value: str
    state: str
    source: str
    sha256: str
    verified_on: str
    expires: str
    age_days: int | None
    used_by: list[str]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One number of one candidate: per start, then mean and interval over the valid starts.

    ``slo``: met, missed or unproven, by the decision or else by the whole interval; "" without one.
    """

    metric: str
    unit: str
    per_start: list[float | None]
    over_starts: Interval | None
    limit: float | None
    slo: str


class CandidateLine(msgspec.Struct, frozen=True, kw_only=True):
    """One measured candidate."""

    candidate: str
    role: str
    chosen: bool
    starts: int
    valid: int
    metrics: list[Measured]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One effective setting, as each server reported it; ``values`` in the order of candidates."""

    key: str
    values: list[str | None]
    differs: bool


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Effective settings side by side."""

    candidates: list[str]
    rows: list[Setting]


class FindingLine(msgspec.Struct, frozen=True, kw_only=True):
    """Something seen in a cell that a reader must know."""

    id: str
    level: str
    says: str
    evidence: str


class CellLine(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: valid or why not, what became of the requests, what the client says of itself."""

    candidate: str
    start: int
    valid: bool
    invalid_because: list[str]
    requests: dict[str, int]
    duration_s: float
    lateness_p99_ms: float | None
    loop_lag_p99_ms: float | None
    cpu_share: float
    findings: list[FindingLine]


class Comparability(msgspec.Struct, frozen=True, kw_only=True):
    """Engines or deployments, and the fields that make the difference."""

    kind: str
    differs: list[str]
    says: str


class QualityLine(msgspec.Struct, frozen=True, kw_only=True):
    """The task check of one candidate against the reference; ``kl`` in nats."""

    candidate: str
    reference: str
    verdict: str
    n: int
    margin: float | None
    kl: Span | None
    agreement: Span | None
    agreement_floor: float | None
    says: str


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One probe or lifecycle trial; ``value`` and ``limit`` with their unit, as text."""

    id: str
    required: bool
    verdict: str
    value: str
    limit: str
    says: str


class ProbeLine(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate's probes: three findings that never stand in for one another."""

    candidate: str
    loads: str
    optimised_path: str
    task: str
    asked: list[Asked]


class EventTime(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the lifecycle: how long it took, what became of the requests meanwhile.

    ``s`` and ``phases`` in seconds; ``finished`` and ``lost`` count requests, None where none ran.
    """

    id: str
    s: float | None
    phases: dict[str, float]
    finished: int | None
    lost: int | None


class LifecycleLine(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate's start, drain, kill, upgrade and roll-back."""

    candidate: str
    times: list[EventTime]
    asked: list[Asked]
    not_run: dict[str, str]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's own document: name of the file, its verdict if it has one, its flat content."""

    name: str
    verdict: str
    rows: list[list[str]]


class PlainTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of what was tried beside the trial's load: its sentence, headings, and texts."""

    id: str
    title: str
    says: str
    columns: list[str]
    rows: list[list[str]]


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How to do it again."""

    commands: list[str]
    versions: dict[str, str]
    hashes: dict[str, str]
    seeds: dict[str, int]
    check: list[str]


class FileLine(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the trial: path within it, size, SHA-256 (empty where the manifest lacks it)."""

    path: str
    bytes: int
    sha256: str


class Dossier(msgspec.Struct, frozen=True, kw_only=True):
    """dossier.json"""

    schema: str
    trial: str
    lang: str
    redacted: bool
    answer: Answer
    would_change: list[Change]
    elimination: list[EliminationRow]
    facts: list[FactLine]
    comparability: Comparability | None
    candidates: list[CandidateLine]
    slo: list[SloLine]
    differences: list[Difference]
    platform: list[PlatformRow]
    platform_needs: list[NeedLine]
    deployment: Deployment
    steps: list[StepLine]
    figures: list[Figure]
    predicted: PredictedPart
    settings: Settings
    quality: list[QualityLine]
    quality_more: list[Section]
    probes: list[ProbeLine]
    lifecycle: list[LifecycleLine]
    beside: list[PlainTable]
    fingerprint: list[list[str]]
    limits: list[str]
    cells: list[CellLine]
    recipe: Recipe
    files: list[FileLine]
    absent: dict[str, str]
    sql_prelude: str
    candidates_sql: str
    workload: dict[str, Any]
    decision: dict[str, Any] | None
    provenance: Provenance
