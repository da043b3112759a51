"""The next cell of a running trial: a pure function of the plan and of what is finished.

A killed trial that is started again therefore goes on exactly as it would have. The order is the
plan's; a void cell is repeated a bounded number of times; an outlying start gives every contender
one more; candidates that a look found worse get no further starts, nor those that never yielded a
valid cell; when nobody is left open the trial ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from seatrial.plan.objective import least_headroom
from seatrial.plan.record import Objective, Plan, PlannedCell
from seatrial.plan.standing import Standing, Start, standing


class SummaryLike(Protocol):
    """A latency's percentiles, as bench writes them; ms."""

    @property
    def mean(self) -> float | None: ...
    @property
    def p50(self) -> float | None: ...
    @property
    def p90(self) -> float | None: ...
    @property
    def p95(self) -> float | None: ...
    @property
    def p99(self) -> float | None: ...


class CountsLike(Protocol):
    """Requests by what became of them."""

    @property
    def completed(self) -> int: ...


class FinishedCell(Protocol):
    """What a plan reads of a finished cell; ``bench.Cell`` is one."""

    @property
    def candidate(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def valid(self) -> bool: ...
    @property
    def requests(self) -> CountsLike: ...
    @property
    def goodput(self) -> float | None: ...
    @property
    def output_tokens_per_s(self) -> float | None: ...
    @property
    def ttft_ms(self) -> SummaryLike: ...
    @property
    def itl_ms(self) -> SummaryLike: ...
    @property
    def tpot_ms(self) -> SummaryLike: ...
    @property
    def e2e_ms(self) -> SummaryLike: ...


def next_cell(plan: Plan, finished: Sequence[FinishedCell]) -> PlannedCell | None:
    """The next cell to run, or None when the trial is over.

    Args:
        finished: all finished cells, valid or not, in any order.
    """
    done = {(cell.candidate, cell.start) for cell in finished}
    race = race_of(plan, finished)
    over = race is not None and race.settled
    out = set(race.worse) if race else set()
    out |= {name for name in {c.candidate for c in finished} if gave_up(plan, finished, name)}
    last_look = max(race.looks, default=0) if race else 0
    contenders = set(plan.contenders)
    for cell in plan.cells:
        if (cell.candidate, cell.start) in done:
            continue
        ended = over and (cell.candidate in contenders or cell.start > last_look)
        if not ended and cell.candidate not in out:
            return cell
    return None if over else _from_reserve(plan, finished, race, out)


def gave_up(plan: Plan, finished: Sequence[FinishedCell], candidate: str) -> bool:
    """Whether no request of a candidate ever completed, in more starts than may be repeated.

    That is an engine that does not work here. Cells that are void because the client was late are
    no reason to give the candidate up.
    """
    mine = [cell for cell in finished if cell.candidate == candidate]
    dead = [cell for cell in mine if not cell.valid and cell.requests.completed == 0]
    return len(mine) == len(dead) > plan.rule.max_invalid_repeats


def _from_reserve(
    plan: Plan, finished: Sequence[FinishedCell], race: Standing | None, out: set[str]
) -> PlannedCell | None:
    """The next start of the reserve that a candidate is entitled to."""
    aside = bool(race and race.set_aside)
    for cell in plan.reserve:
        mine = [c for c in finished if c.candidate == cell.candidate]
        if cell.candidate in out or any(c.start == cell.start for c in mine):
            continue
        void = min(sum(not c.valid for c in mine), plan.rule.max_invalid_repeats)
        again = plan.rule.max_outlier_repeats if aside and cell.candidate in plan.contenders else 0
        if len(mine) < plan.measured_to + void + again:
            is_repeat = len(mine) < plan.measured_to + void
            why = "repeat of an invalid cell" if is_repeat else "one start is outlying"
            return msgspec.structs.replace(cell, why=why)
    return None


def race_of(plan: Plan, finished: Sequence[FinishedCell]) -> Standing | None:
    """The standing after the finished cells by their own summaries; None when nothing is valid."""
    starts = {
        name: found
        for name, found in starts_of(plan, finished, {}).items()
        if not gave_up(plan, finished, name)
    }
    links = full_chain(plan, starts)
    if not links or not any(starts.values()):
        return None
    return standing(starts, links, planned=plan.starts, margin=plan.rule.margin)


def starts_of(
    plan: Plan,
    finished: Sequence[FinishedCell],
    values: Mapping[tuple[str, int], Mapping[str, float]],
) -> dict[str, list[Start]]:
    """The contenders' valid starts in order of execution.

    Args:
        values: (candidate, start) -> metric -> value; where absent the cell's summary is read.
    """
    places = {(c.candidate, c.start): c.position for c in [*plan.cells, *plan.reserve]}
    known = [cell for cell in finished if (cell.candidate, cell.start) in places]
    found: dict[str, list[Start]] = {name: [] for name in plan.contenders}
    for cell in sorted(known, key=lambda c: places[c.candidate, c.start]):
        if cell.valid and cell.candidate in found:
            key = (cell.candidate, cell.start)
            mine = values.get(key) or summary_values(cell)
            found[cell.candidate].append(Start(cell.start, places[key], mine))
    return found


def full_chain(plan: Plan, starts: Mapping[str, Sequence[Start]]) -> list[Objective]:
    """The rule's chain with the latency that has least headroom in everybody's first start."""
    links = list(plan.rule.chain)
    if not plan.rule.latency_choices:
        return links
    firsts = {name: found[0].values for name, found in starts.items() if found}
    last = least_headroom(plan.rule.latency_choices, firsts)
    return [*links, last] if last else links


def summary_values(cell: FinishedCell) -> dict[str, float]:
    """metric -> value of one cell, from its own summary."""
    values: dict[str, float | None] = {
        "goodput": cell.goodput,
        "output_tokens_per_s": cell.output_tokens_per_s,
    }
    for name in ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"):
        summary: SummaryLike = getattr(cell, name)
        for key in ("mean", "p50", "p90", "p95", "p99"):
            values[f"{name}.{key}"] = getattr(summary, key)
    return {name: float(value) for name, value in values.items() if value is not None}
