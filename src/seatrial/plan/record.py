"""plan.json: what will be measured, in which order, and by which rule it will be judged.

Everything that could be bent towards a wished-for result afterwards is fixed here, before the
first cell: the order, the number of starts, the margin, the error rate and how it is spent, the
chain of metrics, how often a void cell may be repeated.
"""

from __future__ import annotations

import msgspec

from seatrial.core.provenance import Provenance
from seatrial.core.verdict import Verdict

SCHEMA = "seatrial/plan/1"


class Objective(msgspec.Struct, frozen=True, kw_only=True):
    """One metric that candidates are ranked by.

    Attributes:
        metric: e.g. ``goodput``, ``ttft_ms.p95``, ``output_tokens_per_s``.
        log: compare logarithms (ratios) or plain differences (shares).
        higher_is_better: the sense.
        limit: the SLO it is held against, in the metric's unit; None where none is asked.
    """

    metric: str
    log: bool
    higher_is_better: bool
    limit: float | None = None


class PlannedArm(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that goes on trial."""

    candidate: str
    engine: str
    version: str | None
    verdict: Verdict
    role: str


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that does not, and why."""

    candidate: str
    verdict: Verdict
    why: str


class PlannedCell(msgspec.Struct, frozen=True, kw_only=True):
    """One start of one candidate.

    Attributes:
        start: 1-based; the name of the cell's folder.
        position: place in the order of execution, 0-based.
        why: ``planned``, ``repeat of an invalid cell``, ``one start is outlying``.
    """

    candidate: str
    start: int
    position: int
    why: str = "planned"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """How the trial is judged; see docs/method/statistics.md.

    Attributes:
        margin: practical difference; a fraction for log metrics, share points for shares.
        alpha: chance of any false claim over all looks, one-sided, family-wise.
        levels: number of starts (as text, for JSON) -> level of the look after them.
        chain: metrics in order of rank; one decides only when all before it are equivalent.
        latency_choices: for an online workload, the SLO latencies; the one with least headroom in
            the first start of every candidate becomes the last link of the chain.
        max_invalid_repeats: further starts of a candidate whose cells were void.
        max_outlier_repeats: further starts of every candidate when one start is outlying.
    """

    margin: float
    alpha: float
    levels: dict[str, float]
    chain: list[Objective]
    latency_choices: list[Objective]
    max_invalid_repeats: int
    max_outlier_repeats: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """plan.json.

    ``cells`` is the whole planned order; a sequential stop may end it early. ``reserve`` goes on in
    the same order: repeats of void cells and starts added for an outlying one are taken from it.
    ``starts`` is what the error budget was laid out for and never changes; ``extended_to`` is how
    many starts of each are in ``cells`` after an extension, ``measured_to`` in any case.
    """

    schema: str
    seed: int
    starts: int
    extended_to: int | None = None
    rule: Rule
    survivors: list[PlannedArm]
    left_out: list[LeftOut]
    cells: list[PlannedCell]
    reserve: list[PlannedCell]
    minutes_per_cell: float | None
    expected_minutes: float | None
    budget_minutes: float
    fits_budget: bool | None
    notes: list[str]
    provenance: Provenance

    @property
    def measured_to(self) -> int:
        """Starts of each candidate in ``cells``."""
        return self.extended_to or self.starts

    @property
    def contenders(self) -> list[str]:
        """Ids of those that can be selected, in the order of the gate table."""
        return [arm.candidate for arm in self.survivors if arm.role == "candidate"]
