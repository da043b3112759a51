"""The way back: what to watch, and what to return to."""

from __future__ import annotations

from collections.abc import Sequence

from seatrial.decide.case import Case
from seatrial.decide.record import Rollback
from seatrial.decide.trigger import triggers
from seatrial.decide.verdict import Verdict
from seatrial.plan.record import Objective


def rollback_of(
    case: Case, verdict: Verdict, chain: Sequence[Objective], previous: str | None
) -> Rollback:
    """Trigger for the chosen candidate and the candidate to return to."""
    chosen = verdict.selected
    back, because = _previous(case, chosen, previous)
    if chosen is None or not chain:
        return Rollback(trigger=None, warnings=[], previous=back, previous_because=because)
    engine = next(a.engine for a in case.plan.survivors if a.candidate == chosen)
    link = chain[-1]
    trigger, warnings = triggers(
        engine, link, case.series(chosen, link.metric), case.series(chosen, "tpot_ms.mean")
    )
    return Rollback(trigger=trigger, warnings=warnings, previous=back, previous_because=because)


def _previous(case: Case, chosen: str | None, named: str | None) -> tuple[str | None, str]:
    if named:
        return named, "serves today"
    others = [a for a in case.plan.survivors if a.candidate != chosen and a.role == "candidate"]
    operated = [a for a in others if a.engine in case.spec.team.engines_operated]
    if operated:
        return operated[0].candidate, f"the team operates {operated[0].engine} already"
    measured = [a for a in others if case.cells[a.candidate]]
    if measured:
        return measured[
            0
        ].candidate, "measured in the same trial; nothing that serves today was named"
    return None, "nothing that serves today was named, and no other candidate was measured"
