"""The decision: selected, tie, undecided, or none feasible, by a rule fixed before the trial.

    1  who went on trial                    gate.json, plan.json
    2  engines that never ran are out       cells
    3  the quality check excludes           quality/
    4  the operations' limits exclude       lifecycle/, cells
    5  the SLOs exclude                     requests of every valid start
    6  those left are compared              plan.standing: chain of metrics, looks, Holm
    7  equivalent ones: cost, operations
    8  nothing is chosen that was not measured, not shown to hold the SLOs, or whose quality is open

The decision reads finished artefacts only. When they do not suffice it says what to measure next;
it cannot go and measure. docs/method/decision.md defines each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seatrial.bench.cell import Cell
from seatrial.core.ids import sha256_value
from seatrial.core.provenance import provenance
from seatrial.decide.case import Case, comparison_of, gather, measured_of
from seatrial.decide.constraints import (
    QualityLike,
    by_engine,
    by_operations,
    by_quality,
    by_slo,
)
from seatrial.decide.observed import notes_of, thin_tails
from seatrial.decide.platform import platform_needs
from seatrial.decide.record import SCHEMA, Decision, Excluded, SloCheck, Step, Turn
from seatrial.decide.requests import Columns
from seatrial.decide.rollback import rollback_of
from seatrial.decide.secondary import secondary_of
from seatrial.decide.slo import check_slos
from seatrial.decide.turns import resolution_of, turns_of
from seatrial.decide.verdict import Verdict, judge
from seatrial.gate.table import GateTable
from seatrial.plan.next import full_chain, starts_of
from seatrial.plan.record import Objective, Plan
from seatrial.workload.spec import Workload


def decide(
    *,
    spec: Workload,
    gate: GateTable,
    plan: Plan,
    cells: Sequence[Cell],
    requests: Callable[[Cell], Columns],
    quality: Mapping[str, QualityLike] | None = None,
    lifecycle: Mapping[str, Mapping[str, Any]] | None = None,
    platform: Mapping[str, Mapping[str, Any]] | None = None,
    previous: str | None = None,
    facts_expire: Mapping[str, str] | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Decision:
    """Decide from what has been measured; deterministic but for the time stamp.

    Args:
        requests: columns of one cell (``read_requests`` of its requests.parquet); called for valid
            cells only.
        quality, lifecycle: candidate -> result, where run. lifecycle has DESIGN's keys.
        platform: candidate -> ``weights_bytes``, ``image_bytes`` where known.
        previous: what serves today, if the user said so.
        facts_expire: id of each fact the gate used -> ISO day after which it must be read again.
        inputs: name -> SHA-256 of the artefacts read, for provenance and the rule trace.
    """
    case = gather(
        spec=spec,
        plan=plan,
        cells=cells,
        requests=requests,
        quality=quality or {},
        lifecycle=lifecycle or {},
        platform=platform or {},
    )
    hashes = _hashes(spec, gate, plan, case.all_cells, inputs or {})
    contenders = plan.contenders
    checks = [
        check
        for arm in plan.survivors
        for check in check_slos(
            arm.candidate,
            case.requests[arm.candidate],
            spec,
            [case.values[c.candidate, c.start] for c in case.cells[arm.candidate]],
        )
    ]
    steps = [_step("on trial", _on_trial(plan), hashes, "gate", "plan")]
    excluded = _exclude(case, contenders, checks, hashes, steps)
    verdict = judge(case, gate, contenders, excluded, checks)
    steps.append(_step("compare", verdict.says, hashes, "plan", "cells"))
    turns = turns_of(case, verdict, checks, facts_expire or {})
    return _record(case, gate, verdict, excluded, checks, turns, steps, hashes, previous)


def _record(
    case: Case,
    gate: GateTable,
    verdict: Verdict,
    excluded: list[Excluded],
    checks: list[SloCheck],
    turns: list[Turn],
    steps: list[Step],
    hashes: dict[str, str],
    previous: str | None,
) -> Decision:
    race = verdict.race
    starts = starts_of(case.plan, case.all_cells, case.values)
    chain = full_chain(case.plan, starts)
    contenders = case.plan.contenders
    return Decision(
        schema=SCHEMA,
        outcome=verdict.outcome,
        selected=verdict.selected,
        comparison=comparison_of(case, contenders),
        ranked_by=[link.metric for link in chain],
        margin=case.plan.rule.margin,
        alpha=case.plan.rule.alpha,
        measured=measured_of(case),
        slo=checks,
        excluded=excluded,
        not_on_trial=_not_on_trial(gate, case.plan),
        comparisons=race.comparisons if race else [],
        secondary=secondary_of(case, verdict, chain),
        equivalent=verdict.equivalent,
        resolution=resolution_of(race.comparisons if race else []),
        set_aside=[f"{name}/{start}" for name, start in (race.set_aside if race else [])],
        caveats=case.caveats + verdict.caveats + _observed(case, chain),
        reasons=verdict.reasons,
        would_change=turns,
        rollback=rollback_of(case, verdict, chain, previous),
        costs=list(case.costs.values()),
        operations=list(case.operations.values()),
        platform=platform_needs(case.spec.platform, _engine(case.plan, verdict.selected)),
        evidence_request=verdict.evidence,
        trace=steps,
        provenance=provenance(hashes, {}),
    )


def _observed(case: Case, chain: Sequence[Objective]) -> list[str]:
    seed = case.spec.trial.seed
    notes = [note for name, found in case.requests.items() for note in notes_of(name, found, seed)]
    return thin_tails(case.requests, chain) + notes


def _exclude(
    case: Case,
    contenders: Sequence[str],
    checks: Sequence[SloCheck],
    hashes: Mapping[str, str],
    steps: list[Step],
) -> list[Excluded]:
    """Steps 2 to 5; a candidate is excluded once, by the first step that does."""
    out: list[Excluded] = []
    rules: list[tuple[str, list[Excluded], tuple[str, ...]]] = [
        ("starts", by_engine(contenders, case.all_cells), ("cells",)),
        ("quality", by_quality(contenders, case.quality), ("quality",)),
        (
            "operations",
            by_operations(list(case.operations.values()), case.spec.operations),
            ("workload", "lifecycle", "cells"),
        ),
        ("slo", by_slo(contenders, checks), ("workload", "cells")),
    ]
    for rule, found, read in rules:
        gone = {e.candidate for e in out}
        new = [e for e in found if e.candidate in contenders and e.candidate not in gone]
        out.extend(new)
        says = "; ".join(f"{e.candidate} is out: {e.says}" for e in new) or "excludes nobody"
        steps.append(_step(rule, says, hashes, *read))
    return out


def _hashes(
    spec: Workload,
    gate: GateTable,
    plan: Plan,
    cells: Sequence[Cell],
    given: Mapping[str, str],
) -> dict[str, str]:
    """SHA-256 of each input file where given, else of the record itself."""
    records: dict[str, Any] = {
        "workload.resolved.json": spec,
        "gate.json": gate,
        "plan.json": plan,
    }
    for cell in cells:
        records[f"cells/{cell.candidate}/{cell.start:03d}/cell.json"] = cell
    missing = {name: value for name, value in records.items() if name not in given}
    return {name: sha256_value(value) for name, value in missing.items()} | dict(given)


def _step(rule: str, says: str, hashes: Mapping[str, str], *read: str) -> Step:
    used = {
        name: value
        for name, value in hashes.items()
        if any(name == r or name.startswith(f"{r}/") or name.startswith(f"{r}.") for r in read)
    }
    return Step(rule=rule, says=says, inputs=used)


def _on_trial(plan: Plan) -> str:
    names = [f"{arm.candidate} ({arm.verdict}, {arm.role})" for arm in plan.survivors]
    return f"{len(names)} on trial: {', '.join(names) or 'none'}; {len(plan.left_out)} left out"


def _engine(plan: Plan, candidate: str | None) -> str | None:
    return next((arm.engine for arm in plan.survivors if arm.candidate == candidate), None)


def _not_on_trial(gate: GateTable, plan: Plan) -> list[Excluded]:
    on_trial = {arm.candidate for arm in plan.survivors}
    return [
        Excluded(
            candidate=row.candidate,
            constraint=row.reasons[0].constraint if row.reasons else str(row.verdict),
            says=f"{row.verdict}: {row.reasons[0].says}" if row.reasons else str(row.verdict),
            remedy=row.reasons[0].remedy if row.reasons else "",
        )
        for row in gate.candidates
        if row.candidate not in on_trial
    ]
