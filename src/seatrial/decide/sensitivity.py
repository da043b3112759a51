"""What would change the decision: at which value of each assumption the choice turns.

Every figure is read off the data that made the decision: the margin at which the deciding interval
stops supporting the claim, the SLO limit at which the chosen candidate would no longer be shown to
hold it (and at which one that was excluded would be), the price at which the budget breaks. About
other traffic only a bound can be said: what was not measured is not extrapolated here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from seatrial.decide.record import Cost, SloCheck, Turn
from seatrial.decide.requests import LATENCY_COLUMNS, Columns, latency_ms, meets_every_slo, offered
from seatrial.decide.slo import share_interval
from seatrial.plan.standing import Standing
from seatrial.stats.compare import Comparison, Outcome
from seatrial.stats.percentile import QS
from seatrial.workload.spec import Workload

BUSY_WINDOW_S = 10.0


def margin_turns(state: Standing, chosen: str, margin: float) -> list[Turn]:
    """The margin at which "better" becomes undecided, or "equivalent" does."""
    wins = [c for c in state.worse.values() if c.a == chosen]
    ties = [
        c
        for c in state.comparisons
        if c.outcome is Outcome.EQUIVALENT and (c.b in state.equivalent) and c.a == state.leader
    ]
    turns = []
    if wins:
        weakest = min(wins, key=lambda c: c.delta.low)
        at = _margin(weakest, weakest.delta.low)
        says = (
            f"the choice holds for any margin below {at:.1%} ({weakest.metric} against"
            f" {weakest.b}); above it that comparison is undecided"
        )
        turns.append(_turn("margin", margin, at, "undecided", says))
    if ties:
        widest = max(ties, key=lambda c: max(-c.delta.low, c.delta.high))
        at = _margin(widest, max(-widest.delta.low, widest.delta.high))
        says = (
            f"the tie holds for any margin above {at:.1%} ({widest.metric} against {widest.b});"
            " below it that comparison is undecided"
        )
        turns.append(_turn("margin", margin, at, "undecided", says))
    return turns


def slo_turns(
    chosen: str,
    requests: Mapping[str, Sequence[Columns]],
    checks: Sequence[SloCheck],
) -> list[Turn]:
    """For each percentile SLO: the tightest limit that each candidate is shown to hold."""
    turns = []
    for check in checks:
        name, _, key = check.slo.partition(".")
        if name not in LATENCY_COLUMNS or key not in QS:
            continue
        at = tightest_limit([latency_ms(c, name) for c in requests[check.candidate]], QS[key])
        if at is None:
            continue
        if check.candidate == chosen and check.verdict == "met":
            says = f"{chosen} is shown to hold {check.slo} down to {at:.4g} ms; tighter, it is not"
            turns.append(_turn(f"slo.{check.slo}", check.limit, at, "not selected", says))
        elif check.verdict != "met":
            says = f"{check.candidate} would be admitted with {check.slo} at {at:.4g} ms or more"
            turns.append(_turn(f"slo.{check.slo}", check.limit, at, check.candidate, says))
    return turns


def tightest_limit(starts: Sequence[np.ndarray], q: float) -> float | None:
    """The least limit (ms) that the latencies are shown to hold at quantile q; None if none is."""
    ordered = [np.sort(s) for s in starts if s.size]
    if not ordered:
        return None
    n = sum(s.size for s in ordered)
    pooled = np.sort(np.concatenate(ordered))
    pooled = pooled[np.isfinite(pooled)]

    def held(limit: float) -> bool:
        shares = [float(np.searchsorted(s, limit, side="right")) / s.size for s in ordered]
        return share_interval(shares, n).low >= q

    if not pooled.size or not held(float(pooled[-1])):
        return None
    low, high = 0, pooled.size - 1
    while low < high:
        middle = (low + high) // 2
        if held(float(pooled[middle])):
            high = middle
        else:
            low = middle + 1
    return float(pooled[high])


def cost_turns(cost: Cost | None, spec: Workload) -> list[Turn]:
    """The price per hour at which the budget per token breaks."""
    if cost is None:
        return []
    turns = []
    budget = spec.budget.usd_per_million_output_tokens
    found = cost.usd_per_million_output_tokens
    if budget is not None and math.isfinite(found.high) and found.high > 0:
        at = cost.usd_per_hour * budget / found.high
        says = (
            f"at the load measured, {budget:g} USD per million output tokens is kept up to"
            f" {at:.4g} USD per hour"
        )
        turns.append(_turn("usd_per_hour", cost.usd_per_hour, at, "over budget", says))
    says = (
        "all candidates run on the same hardware at one price: a price per hour that is common to"
        " all cannot turn the order"
    )
    turns.append(_turn("price_order", cost.usd_per_hour, None, "no change", says))
    return turns


def traffic_turns(starts: Sequence[Columns], spec: Workload) -> list[Turn]:
    """How far the measured evidence reaches in traffic: the busiest window that met every SLO."""
    reach = busiest_good_window(starts, spec)
    if reach is None:
        return []
    if reach > 1:
        says = (
            f"the busiest {BUSY_WINDOW_S:g} s window in which every request met every SLO carried"
            f" {reach:.2g} times the mean arrival rate; sustained growth beyond x1 was not"
            " measured, and nothing is claimed of x2 to x10: run the trial with traffic.scale"
        )
    else:
        says = (
            "no window busier than the mean met every SLO: growth of traffic at all is outside what"
            " was shown; run the trial with traffic.scale"
        )
    return [_turn("traffic", 1.0, reach, "not measured", says, basis="bound")]


def busiest_good_window(starts: Sequence[Columns], spec: Workload) -> float | None:
    """Arrival rate of the busiest all-good window over the mean rate; None when too short."""
    best = None
    for columns in starts:
        at = columns["scheduled_ns"][offered(columns)].astype(np.float64)
        good = meets_every_slo(columns, spec.slo)
        span = (at.max() - at.min()) / 1e9 if at.size else 0.0
        if span < 3 * BUSY_WINDOW_S:
            continue
        window = ((at - at.min()) / 1e9 // BUSY_WINDOW_S).astype(int)
        count, bad = np.bincount(window), np.bincount(window, weights=~good)
        fine = count[(bad == 0) & (count > 0)]
        if fine.size:
            reach = float(fine.max() / BUSY_WINDOW_S / (at.size / span))
            best = reach if best is None else max(best, reach)
    return best


def _margin(comparison: Comparison, value: float) -> float:
    return math.expm1(value) if comparison.scale == "log" else value


def _turn(
    what: str, now: float | None, at: float | None, to: str, says: str, *, basis: str = "measured"
) -> Turn:
    if at is not None and not math.isfinite(at):
        at = None
    return Turn(what=what, now=now, turns_at=at, to=to, basis=basis, says=says)  # type: ignore[arg-type]
