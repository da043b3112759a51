"""The other metrics of the chosen against the rest: for reading, never for choosing."""

from __future__ import annotations

import numpy as np

from seatrial.decide.case import METRICS, Case
from seatrial.decide.verdict import Verdict
from seatrial.plan.next import starts_of
from seatrial.plan.record import Objective
from seatrial.plan.standing import holm_outcomes, series, versus
from seatrial.stats.compare import Comparison
from seatrial.stats.sequential import level_at


def secondary_of(case: Case, verdict: Verdict, chain: list[Objective]) -> list[Comparison]:
    """Leader against each other contender on every metric outside the chain, Holm over all."""
    leader = verdict.selected or (verdict.race.leader if verdict.race else None)
    if leader is None:
        return []
    starts = starts_of(case.plan, case.all_cells, case.values)
    used = {link.metric for link in chain}
    found = []
    for metric in (m for m in METRICS if m not in used):
        link = Objective(
            metric=metric,
            log=metric != "goodput",
            higher_is_better=metric in ("goodput", "output_tokens_per_s"),
        )
        for other in case.plan.contenders:
            n = min(len(starts[leader]), len(starts[other]))
            both = {name: starts[name][:n] for name in (leader, other)}
            level = level_at(n, case.plan.starts)
            if other != leader and level > 0 and _finite(both, link):
                found.append(versus(link, leader, other, both, case.plan.rule.margin, level))
    level = min((c.alpha for c in found), default=0.0)
    return holm_outcomes(found, level)


def _finite(both: dict[str, list], link: Objective) -> bool:  # type: ignore[type-arg]
    return all(np.isfinite(series(found, link)).all() for found in both.values())
