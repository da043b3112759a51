"""The plan of a trial: cells interleaved A B B A, drawn from the seed, before anything is run."""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.core.ids import sha256_value
from seatrial.core.provenance import provenance
from seatrial.core.seeds import derive_seed, stream
from seatrial.core.verdict import Verdict
from seatrial.gate.table import GateRow, GateTable
from seatrial.plan.objective import chain, latency_choices
from seatrial.plan.record import (
    SCHEMA,
    LeftOut,
    Plan,
    PlannedArm,
    PlannedCell,
    Rule,
)
from seatrial.stats.sequential import ALPHA, looks, spend
from seatrial.workload.spec import Workload

MAX_INVALID_REPEATS = 2
MAX_OUTLIER_REPEATS = 1
EXTENSION = 4  # a trial may be extended to this many times its planned starts
LANDSCAPE = "landscape"  # judged for completeness, not asked for: never put on trial
STUDY = "study"  # measured whatever the gate says of it, and never chosen
_ON_TRIAL = (Verdict.FEASIBLE, Verdict.DEGRADED)


def make(
    spec: Workload,
    gate_table: GateTable,
    *,
    fingerprint: Any = None,
    minutes_per_cell: float | None = None,
) -> Plan:
    """Plan the trial of what the gate let through.

    Args:
        fingerprint: the workload's fingerprint; its hash becomes an input of the plan.
        minutes_per_cell: expected cost of one cell, start and load together; None if unknown.
    """
    arms = [row for row in gate_table.candidates if goes_on_trial(row)]
    names = [row.candidate for row in arms]
    extra = MAX_INVALID_REPEATS + MAX_OUTLIER_REPEATS
    order = interleave(names, spec.trial.starts + extra, spec.trial.seed)
    cells = order[: len(names) * spec.trial.starts]
    expected = None if minutes_per_cell is None else minutes_per_cell * len(cells)
    fits = None if expected is None else expected <= spec.trial.budget_minutes
    inputs = {"workload": sha256_value(spec), "gate": sha256_value(gate_table)}
    if fingerprint is not None:
        inputs["fingerprint"] = sha256_value(fingerprint)
    return Plan(
        schema=SCHEMA,
        seed=spec.trial.seed,
        starts=spec.trial.starts,
        rule=_rule(spec),
        survivors=[_arm(row) for row in arms],
        left_out=[_left_out(row) for row in gate_table.candidates if row not in arms],
        cells=cells,
        reserve=order[len(cells) :],
        minutes_per_cell=minutes_per_cell,
        expected_minutes=expected,
        budget_minutes=spec.trial.budget_minutes,
        fits_budget=fits,
        notes=_notes(spec, len(names), expected),
        provenance=provenance(inputs, {"order": derive_seed(spec.trial.seed, "order")}),
    )


def goes_on_trial(row: GateRow) -> bool:
    """What is feasible or degraded, and a study that runs here though it may not be chosen.

    A study is named by the user to be measured, not to be selected: that it starts only with a
    patch (``infeasible`` for selection) is no reason to leave it out. That it is not here, or
    failed a probe on the running engine, is one.
    """
    if row.role == LANDSCAPE:
        return False
    if row.role == STUDY:
        out = {"engine_not_installed", "probe.loads"}
        return not any(r.constraint in out and r.verdict not in _ON_TRIAL for r in row.reasons)
    return row.verdict in _ON_TRIAL


def extend(plan: Plan, starts: int) -> Plan:
    """The same plan carried on to more starts of each candidate, in the order it would have had.

    The error budget stays as it was laid out: a claim is possible at the next number of starts that
    has a level (twice, four times the planned ones).

    Raises:
        ValueError: ``starts`` is not more than what is planned, or has no look in reach.
    """
    most = EXTENSION * plan.starts
    if not plan.measured_to < starts <= most:
        raise ValueError(f"from {plan.measured_to + 1} to {most} starts can be asked for")
    names = [arm.candidate for arm in plan.survivors]
    extra = plan.rule.max_invalid_repeats + plan.rule.max_outlier_repeats
    order = interleave(names, starts + extra, plan.seed)
    cells = order[: len(names) * starts]
    expected = None if plan.minutes_per_cell is None else plan.minutes_per_cell * len(cells)
    return msgspec.structs.replace(
        plan,
        extended_to=starts,
        cells=cells,
        reserve=order[len(cells) :],
        expected_minutes=expected,
        fits_budget=None if expected is None else expected <= plan.budget_minutes,
        notes=[*plan.notes, f"extended from {plan.measured_to} to {starts} starts"],
        provenance=provenance(
            plan.provenance.inputs | {"plan before": sha256_value(plan)}, plan.provenance.seeds
        ),
    )


def interleave(candidates: list[str], starts: int, seed: int) -> list[PlannedCell]:
    """Blocks of one start of each; every second block is the mirror of the one before it.

    For two candidates that is A B B A A B B A or its like. A drift that is linear in time cancels
    within each pair of blocks.
    """
    rng = stream(seed, "order")
    cells: list[PlannedCell] = []
    block: list[str] = []
    for start in range(1, starts + 1):
        if start % 2:
            block = [candidates[i] for i in rng.permutation(len(candidates))]
        else:
            block = block[::-1]
        for candidate in block:
            cells.append(PlannedCell(candidate=candidate, start=start, position=len(cells)))
    return cells


def _rule(spec: Workload) -> Rule:
    starts = spec.trial.starts
    return Rule(
        margin=spec.trial.margin,
        alpha=ALPHA,
        levels={str(n): spend(n, starts) for n in looks(starts, EXTENSION * starts)},
        chain=chain(spec),
        latency_choices=latency_choices(spec),
        max_invalid_repeats=MAX_INVALID_REPEATS,
        max_outlier_repeats=MAX_OUTLIER_REPEATS,
    )


def _arm(row: GateRow) -> PlannedArm:
    return PlannedArm(
        candidate=row.candidate,
        engine=row.engine,
        version=row.version,
        verdict=row.verdict,
        role=row.role,
    )


def _left_out(row: GateRow) -> LeftOut:
    why = row.reasons[0].says if row.reasons else "the gate gave no reason"
    return LeftOut(candidate=row.candidate, verdict=row.verdict, why=why)


def _notes(spec: Workload, arms: int, expected: float | None) -> list[str]:
    notes = []
    if spec.trial.starts < 3:
        notes.append(
            f"{spec.trial.starts} start(s) of each candidate cannot separate them from noise:"
            " with fewer than 3 expect 'undecided' unless they differ by several times"
        )
    if arms == 1:
        notes.append("one candidate only: it is measured against the SLOs, not against another")
    if expected is not None and expected > spec.trial.budget_minutes:
        notes.append(
            f"at least {expected:.1f} min are expected and {spec.trial.budget_minutes:g} min were "
            "given; the planned starts are kept, since fewer could not answer the question: "
            "traffic.slice shortens each"
        )
    return notes
