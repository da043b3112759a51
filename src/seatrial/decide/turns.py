"""All that would change this decision, in one list."""

from __future__ import annotations

from collections.abc import Sequence

from seatrial.decide.case import Case
from seatrial.decide.constraints import ends
from seatrial.decide.record import SloCheck, Turn
from seatrial.decide.sensitivity import cost_turns, margin_turns, slo_turns, traffic_turns
from seatrial.decide.verdict import Verdict


def turns_of(case: Case, verdict: Verdict, checks: Sequence[SloCheck]) -> list[Turn]:
    """Margin, SLOs, price, traffic and quality margin; empty for what has no data."""
    chosen = verdict.selected or (verdict.race.leader if verdict.race else None)
    if chosen is None:
        return slo_turns("", case.requests, checks)
    turns = []
    if verdict.race is not None:
        turns += margin_turns(verdict.race, chosen, case.plan.rule.margin)
    turns += slo_turns(chosen, case.requests, checks)
    turns += traffic_turns(case.requests[chosen], case.spec)
    turns += cost_turns(case.costs.get(chosen), case.spec)
    return turns + _quality(case, chosen)


def _quality(case: Case, chosen: str) -> list[Turn]:
    check = case.quality.get(chosen)
    if check is None:
        return []
    at = max(abs(end) for end in ends(check.diff))
    says = f"{chosen} passes the quality check for any margin above {at:.4g}"
    return [
        Turn(
            what="quality_margin",
            now=check.margin,
            turns_at=at,
            to="not selected",
            basis="measured",
            says=says,
        )
    ]
