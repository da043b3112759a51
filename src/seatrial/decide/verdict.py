"""The outcome itself, with its reasons in plain sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from seatrial.core.verdict import Verdict as GateVerdict
from seatrial.decide.case import Case
from seatrial.decide.cost import prefer
from seatrial.decide.evidence import for_open, request
from seatrial.decide.record import EvidenceCell, EvidenceRequest, Excluded, OutcomeName, SloCheck
from seatrial.gate.table import GateTable
from seatrial.plan.next import full_chain, starts_of
from seatrial.plan.standing import Standing, standing
from seatrial.stats.compare import Comparison, Outcome

_OPEN = (GateVerdict.UNKNOWN, GateVerdict.CONDITIONAL)


@dataclass(slots=True)
class Verdict:
    """What was decided and why; ``race`` is None when nobody was compared."""

    outcome: OutcomeName
    selected: str | None = None
    equivalent: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    evidence: EvidenceRequest | None = None
    race: Standing | None = None

    @property
    def says(self) -> str:
        """The step's line in the rule trace."""
        return f"{self.outcome}: {'; '.join(self.reasons)}"


def judge(
    case: Case,
    gate: GateTable,
    contenders: Sequence[str],
    excluded: Sequence[Excluded],
    checks: Sequence[SloCheck],
) -> Verdict:
    """The outcome from the contenders, who is excluded, and the SLO checks."""
    gone = {e.candidate for e in excluded}
    left = [name for name in contenders if name not in gone]
    if not left:
        return _nobody_left(case, gate, contenders, excluded)
    unmeasured = [name for name in left if not case.cells[name]]
    if unmeasured:
        return _unmeasured(case, unmeasured)
    race = _race(case, left)
    if len(left) == 1:
        verdict = Verdict("selected", left[0], race=race)
        verdict.reasons.append(_only_one(left[0], contenders, excluded))
    elif not race.settled:
        verdict = _open_race(case, race)
    elif race.equivalent:
        verdict = _tie(case, race, checks)
    else:
        verdict = Verdict("selected", race.leader, race=race)
    verdict.reasons[:0] = [_beats(c) for c in race.worse.values()]
    verdict.caveats.extend(_race_caveats(race))
    if verdict.selected:
        _must_be_shown(case, verdict, checks)
    return verdict


def _race(case: Case, left: Sequence[str]) -> Standing:
    starts = starts_of(case.plan, case.all_cells, case.values)
    mine = {name: starts[name] for name in left}
    chain = full_chain(case.plan, starts)
    if not chain or len(left) == 1:
        return Standing(leader=left[0], open=list(left[1:]))
    return standing(mine, chain, planned=case.plan.starts, margin=case.plan.rule.margin)


def _nobody_left(
    case: Case, gate: GateTable, contenders: Sequence[str], excluded: Sequence[Excluded]
) -> Verdict:
    unsettled = [row for row in gate.candidates if row.verdict in _OPEN and row.role == "candidate"]
    reasons = [f"{e.candidate} is out: {e.says}; it would take: {e.remedy}" for e in excluded]
    for row in gate.candidates:
        if row.candidate not in contenders and row.reasons and row.role == "candidate":
            first = row.reasons[0]
            reasons.append(
                f"{row.candidate} is {row.verdict} by {first.constraint}: {first.says};"
                f" it would take: {first.remedy or 'nothing known'}"
            )
    others = [
        f"{row.candidate} ({row.verdict}: {row.reasons[0].remedy or row.reasons[0].says})"
        for row in gate.candidates
        if row.role not in ("candidate", "study", "reference")
        and row.verdict in _OPEN
        and row.reasons
    ]
    if others:
        reasons.append(f"not named in the workload and not refused: {'; '.join(others)}")
    if not unsettled:
        return Verdict("none_feasible", reasons=reasons or ["no candidate was named"])
    cells = [
        EvidenceCell(
            candidate=row.candidate,
            starts=case.plan.starts,
            why=row.reasons[0].remedy if row.reasons else str(row.verdict),
        )
        for row in unsettled
    ]
    says = "whether any candidate can do the job: these were not refused, they were not on trial"
    return Verdict(
        "undecided", reasons=reasons, evidence=request(cells, case.plan.minutes_per_cell, says)
    )


def _invalid(reasons: Sequence[str]) -> str:
    """Why cells are not valid, each kind of reason once: they differ in their numbers alone."""
    kinds: dict[str, list[str]] = {}
    for reason in reasons:
        kinds.setdefault(re.sub(r"\d+(\.\d+)?", "#", reason), []).append(reason)
    return "; ".join(
        said[0] + (f" (and {len(said) - 1} more like it)" if len(said) > 1 else "")
        for said in kinds.values()
    )


def _unmeasured(case: Case, names: Sequence[str]) -> Verdict:
    cells, reasons = [], []
    for name in names:
        tried = [c for c in case.all_cells if c.candidate == name]
        because = _invalid([reason for cell in tried for reason in cell.invalid_because])
        why = f"{name} passed the gate and has no valid cell" + (f": {because}" if because else "")
        reasons.append(why + "; nothing is chosen while a survivor is unmeasured")
        cells.append(EvidenceCell(candidate=name, starts=case.plan.starts, why=why))
    says = f"whether {', '.join(names)} is better than what was measured"
    return Verdict(
        "undecided", reasons=reasons, evidence=request(cells, case.minutes_per_cell, says)
    )


def _open_race(case: Case, race: Standing) -> Verdict:
    pairs = _last_pairs(race)
    reasons = [_open_pair(c) for c in pairs]
    blind = [name for name in race.open if name not in {c.b for c in pairs}]
    if race.looks:
        reasons += [f"{name} has a start without a value to compare: it is open" for name in blind]
    if not pairs and not race.looks:
        have = {name: len(case.cells[name]) for name in [race.leader, *race.open] if name}
        reasons = [
            "no comparison could be made: "
            + ", ".join(f"{name} has {n} valid start(s)" for name, n in have.items())
            + f"; {case.plan.starts} of each were planned and at least 2 are needed"
        ]
        short = [
            EvidenceCell(
                candidate=name,
                starts=max(1, max(3, case.plan.starts) - n),
                why=f"{n} valid start(s)",
            )
            for name, n in have.items()
        ]
        evidence = request(short, case.minutes_per_cell, "which of them is chosen")
    else:
        evidence = for_open(case.plan, pairs, case.minutes_per_cell)
    return Verdict("undecided", reasons=reasons, evidence=evidence, race=race)


def _last_pairs(race: Standing) -> list[Comparison]:
    """The last comparison of each candidate that is open."""
    last = {c.b: c for c in race.comparisons if c.b in race.open}
    return list(last.values())


def _tie(case: Case, race: Standing, checks: Sequence[SloCheck]) -> Verdict:
    group = [name for name in [race.leader, *race.equivalent] if name]
    shown = [n for n in group if not _unproven(n, checks)] or group
    order = prefer(shown, case.costs, case.operations)
    last = {c.b: c for c in race.comparisons if c.outcome is Outcome.EQUIVALENT}
    reasons = [
        f"{c.a} and {c.b} are equivalent within {case.plan.rule.margin:.0%} on {c.metric}:"
        f" {_spread(c)}"
        for name, c in last.items()
        if name in race.equivalent
    ]
    reasons.append(f"cost, then operations put {order[0]} first among {', '.join(sorted(group))}")
    return Verdict("tie", order[0], equivalent=sorted(group), reasons=reasons, race=race)


def _must_be_shown(case: Case, verdict: Verdict, checks: Sequence[SloCheck]) -> None:
    """Turn a choice into *undecided* where an SLO or the quality of the chosen is not shown."""
    name = verdict.selected
    assert name is not None
    unproven = _unproven(name, checks)
    check = case.quality.get(name)
    cells = [
        EvidenceCell(candidate=name, starts=case.plan.starts, why=c.says) for c in unproven[:1]
    ]
    for found in unproven:
        verdict.reasons.append(f"{name} is not shown to hold {found.slo}: {found.says}")
    if check is not None and str(check.verdict) == "undecided":
        why = f"the quality check is undecided after {check.n} prompts"
        verdict.reasons.append(f"{name}: {why}")
        cells.append(EvidenceCell(candidate=name, starts=0, why=why + "; ask more of them"))
    if check is None:
        verdict.caveats.append(f"no quality check of {name}: that it answers well is not shown")
    if cells:
        verdict.outcome, verdict.selected, verdict.equivalent = "undecided", None, []
        says = f"whether {name}, best of those measured, may be chosen"
        verdict.evidence = request(cells, case.minutes_per_cell, says)


def _unproven(name: str, checks: Sequence[SloCheck]) -> list[SloCheck]:
    return [c for c in checks if c.candidate == name and c.verdict == "unproven"]


def _only_one(name: str, contenders: Sequence[str], excluded: Sequence[Excluded]) -> str:
    if len(contenders) == 1:
        return f"{name} is the only candidate on trial: it was held against the SLOs alone"
    gone = ", ".join(f"{e.candidate} ({e.constraint})" for e in excluded)
    return f"{name} is the only one left; excluded: {gone}"


def _beats(c: Comparison) -> str:
    return f"{c.a} is better than {c.b} on {c.metric} by more than the margin: {_spread(c)}"


def _open_pair(c: Comparison) -> str:
    worst = -c.delta.low
    loss = math.expm1(worst) if c.scale == "log" else worst
    tail = ""
    if math.isfinite(loss):
        tail = f"; taking {c.a} instead of {c.b} loses at most {max(0.0, loss):.1%}"
    return f"{c.a} against {c.b} is open on {c.metric}: {_spread(c)}{tail}"


def _spread(c: Comparison) -> str:
    level = f"{c.delta.confidence:.1%} interval, {c.starts_a} and {c.starts_b} starts"
    if c.ratio is not None:
        r = c.ratio
        return f"ratio {r.best:.3f} ({r.low:.3f} to {r.high:.3f}; {level})"
    d = c.delta
    return f"difference {d.best:+.3f} ({d.low:+.3f} to {d.high:+.3f}; {level})"


def _race_caveats(race: Standing) -> list[str]:
    found = [
        f"start {start} of {name} does not belong to the others and is left out of the comparison"
        " (it counts against the SLOs, and one more start was planned for it)"
        for name, start in race.set_aside
    ]
    found.extend(
        f"{name} has more than one outlying start: it may run in two modes; nothing is left out"
        for name in race.unsteady
    )
    return found
