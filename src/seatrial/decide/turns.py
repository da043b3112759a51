"""All that would change this decision, in one list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from seatrial.decide.case import Case
from seatrial.decide.constraints import ends
from seatrial.decide.record import SloCheck, Turn
from seatrial.decide.sensitivity import cost_turns, margin_turns, slo_turns, traffic_turns
from seatrial.decide.verdict import Verdict
from seatrial.stats.compare import Comparison


def turns_of(
    case: Case, verdict: Verdict, checks: Sequence[SloCheck], facts_expire: Mapping[str, str]
) -> list[Turn]:
    """Margin, SLOs, traffic, price, quality margin, facts; empty for what has no data."""
    chosen = verdict.selected or (verdict.race.leader if verdict.race else None)
    if chosen is None:
        return slo_turns("", case.requests, checks) + _facts(facts_expire)
    turns = []
    if verdict.race is not None:
        turns += margin_turns(verdict.race, chosen, case.plan.rule.margin)
    turns += slo_turns(chosen, case.requests, checks)
    turns += traffic_turns(case.requests[chosen], case.spec)
    turns += cost_turns(case.costs.get(chosen), case.spec)
    return turns + _quality(case, chosen) + _facts(facts_expire)


def resolution_of(comparisons: Sequence[Comparison]) -> dict[str, float]:
    """Metric -> smallest difference that its last comparison could have shown as better."""
    found: dict[str, float] = {}
    for c in comparisons:
        least = c.margin + c.delta.high - c.delta.best
        found[c.metric] = math.expm1(least) if c.scale == "log" else least
    return {metric: value for metric, value in found.items() if math.isfinite(value)}


def _facts(expire: Mapping[str, str]) -> list[Turn]:
    if not expire:
        return []
    first = min(expire, key=lambda fact: (expire[fact], fact))
    says = (
        f"the elimination table rests on {len(expire)} facts; the first to expire is {first}"
        f" on {expire[first]}, or when a newer release exists: then seatrial facts sync and gate"
        " again"
    )
    return [Turn(what="facts", now=None, turns_at=None, to="gate again", basis="bound", says=says)]


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
