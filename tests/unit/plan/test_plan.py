"""The order of cells, and what comes next."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from seatrial.core.verdict import Verdict
from seatrial.gate.table import GateRow, Reason
from seatrial.plan import extend, interleave, next_cell, standing, starts_of
from seatrial.plan.make import goes_on_trial
from seatrial.plan.next import full_chain


def drive(plan: Any, value: Any) -> list[Any]:
    """Run a plan to its end; ``value(candidate, start)`` gives a finished cell."""
    finished: list[Any] = []
    for _ in range(100):
        planned = next_cell(plan, finished)
        if planned is None:
            return finished
        finished.append(value(planned.candidate, planned.start))
    raise AssertionError("the trial does not end")


def test_blocks_are_mirrored_and_complete() -> None:
    cells = interleave(["a", "b", "c"], 4, seed=3)
    blocks = [[c.candidate for c in cells[i : i + 3]] for i in range(0, 12, 3)]
    assert blocks[1] == blocks[0][::-1]
    assert blocks[3] == blocks[2][::-1]
    assert all(sorted(b) == ["a", "b", "c"] for b in blocks)
    assert [c.position for c in cells] == list(range(12))


def test_two_candidates_are_balanced_against_linear_drift() -> None:
    cells = interleave(["a", "b"], 4, seed=1)
    mean = {n: np.mean([c.position for c in cells if c.candidate == n]) for n in "ab"}
    assert mean["a"] == mean["b"]


def test_the_order_comes_from_the_seed() -> None:
    names = list("abcdef")
    assert interleave(names, 3, 1) == interleave(names, 3, 1)
    assert interleave(names, 3, 1) != interleave(names, 3, 2)


def test_noise_runs_all_planned_starts(make_plan: Any, fake_cell: Any) -> None:
    rng = random.Random(1)
    plan = make_plan(["a", "b"], starts=5)
    done = drive(plan, lambda c, s: fake_cell(c, s, 200 * rng.gauss(1, 0.05)))
    assert len(done) == 10


def test_a_clear_case_ends_early(make_plan: Any, fake_cell: Any) -> None:
    rng = random.Random(1)
    plan = make_plan(["a", "b"], starts=5)
    base = {"a": 100, "b": 200}
    done = drive(plan, lambda c, s: fake_cell(c, s, base[c] * rng.gauss(1, 0.002)))
    assert len(done) == 6


def test_a_beaten_candidate_gets_no_more_starts(make_plan: Any, fake_cell: Any) -> None:
    rng = random.Random(1)
    plan = make_plan(["a", "b", "c"], starts=5)
    base = {"a": 100, "b": 101, "c": 300}
    done = drive(plan, lambda c, s: fake_cell(c, s, base[c] * rng.gauss(1, 0.01)))
    assert sum(c.candidate == "c" for c in done) == 3
    assert sum(c.candidate == "a" for c in done) == 5


def test_it_goes_on_the_same_wherever_it_was_broken_off(make_plan: Any, fake_cell: Any) -> None:
    plan = make_plan(["a", "b", "c"], starts=4)

    def value(c: str, s: int) -> Any:
        noise = random.Random(f"{c}{s}").gauss(1, 0.03)
        return fake_cell(c, s, {"a": 100, "b": 104, "c": 180}[c] * noise, valid=(c, s) != ("b", 2))

    done = drive(plan, value)
    for i in range(len(done)):
        shuffled = done[:i]
        random.Random(i).shuffle(shuffled)
        again = next_cell(plan, shuffled)
        assert (again.candidate, again.start) == (done[i].candidate, done[i].start)


def test_a_candidate_that_never_works_is_given_up(make_plan: Any, fake_cell: Any) -> None:
    plan = make_plan(["a", "b"], starts=3)
    done = drive(plan, lambda c, s: fake_cell(c, s, 100.0, valid=c == "a", completed=0))
    mine = [c.start for c in done if c.candidate == "b"]
    assert mine == [1, 2, 3]


def test_a_late_client_is_no_reason_to_give_up(make_plan: Any, fake_cell: Any) -> None:
    plan = make_plan(["a", "b"], starts=3)
    done = drive(plan, lambda c, s: fake_cell(c, s, 100.0, valid=c == "a"))
    assert [c.start for c in done if c.candidate == "b"] == [1, 2, 3, 4, 5]


def test_lost_cells_are_repeated_at_most_twice(make_plan: Any, fake_cell: Any) -> None:
    plan = make_plan(["a", "b"], starts=4)
    done = drive(plan, lambda c, s: fake_cell(c, s, 100.0 + s, valid=c == "a" or s == 1))
    assert [c.start for c in done if c.candidate == "b"] == [1, 2, 3, 4, 5, 6]
    assert [c.start for c in done if c.candidate == "a"] == [1, 2, 3, 4]


def test_an_outlying_start_gives_everybody_one_more(make_plan: Any, fake_cell: Any) -> None:
    plan = make_plan(["a", "b"], starts=5)

    def value(c: str, s: int) -> Any:
        noise = random.Random(f"{c}{s}").gauss(1, 0.01)
        slow = 1.3 if (c, s) == ("a", 2) else 1.0
        return fake_cell(c, s, 100 * noise * slow * (1.02 if c == "b" else 1))

    done = drive(plan, value)
    assert [c.start for c in done if c.candidate == "a"] == [1, 2, 3, 4, 5, 6]
    assert [c.start for c in done if c.candidate == "b"] == [1, 2, 3, 4, 5, 6]


def test_one_candidate_runs_all_its_starts(make_plan: Any, fake_cell: Any) -> None:
    plan = make_plan(["a"], starts=3)
    assert len(drive(plan, lambda c, s: fake_cell(c, s, 100.0))) == 3


def test_a_study_is_measured_and_does_not_race(make_plan: Any, fake_cell: Any) -> None:
    plan = make_plan(["a", "s"], roles={"s": "study"}, starts=3)
    assert plan.contenders == ["a"]
    assert len(drive(plan, lambda c, s: fake_cell(c, s, 100.0))) == 6


@pytest.mark.parametrize(
    ("role", "constraint", "goes"),
    [
        ("candidate", "cpu_isa_missing", False),
        ("study", "cpu_isa_missing", True),
        ("study", "engine_not_installed", False),
        ("study", "probe.loads", False),
        ("landscape", "cpu_isa_missing", False),
    ],
)
def test_a_study_is_measured_though_it_may_not_be_chosen(
    role: str, constraint: str, goes: bool
) -> None:
    reason = Reason(
        constraint=constraint,
        verdict=Verdict.INFEASIBLE,
        says="",
        numbers={},
        facts=[],
        remedy="",
    )
    row = GateRow(
        candidate="s",
        engine="sglang",
        version="1",
        verdict=Verdict.INFEASIBLE,
        reasons=[reason],
        role=role,
    )
    assert goes_on_trial(row) is goes


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_cells_without_values_do_not_break_it(
    make_plan: Any, fake_cell: Any, missing: float | None
) -> None:
    plan = make_plan(["a", "b"], starts=3)
    done = drive(plan, lambda c, s: fake_cell(c, s, missing, goodput=missing))
    assert len(done) == 6


def test_the_plan_states_rule_and_budget(make_plan: Any) -> None:
    plan = make_plan(["a", "b"], starts=5, margin=0.05, budget_minutes=10)
    assert plan.rule.margin == 0.05
    assert [link.metric for link in plan.rule.chain] == ["goodput"]
    assert plan.rule.latency_choices[0].metric == "ttft_ms.p95"
    assert plan.expected_minutes == 15
    assert plan.fits_budget is False
    assert sum(plan.rule.levels.values()) <= plan.rule.alpha


def test_an_extension_goes_on_in_the_same_order(make_plan: Any, fake_cell: Any) -> None:
    rng = random.Random(1)
    plan = make_plan(["a", "b"], starts=3)
    made = {(c, s): rng.gauss(1, 0.03) for c in "ab" for s in range(1, 20)}

    def value(c: str, s: int) -> Any:
        return fake_cell(c, s, {"a": 100, "b": 106}[c] * made[c, s])

    first = drive(plan, value)
    assert len(first) == 6
    longer = extend(plan, 6)
    assert longer.cells[:6] == plan.cells
    done = list(first)
    while (planned := next_cell(longer, done)) is not None:
        done.append(value(planned.candidate, planned.start))
    assert len(done) == 12
    starts = starts_of(longer, done, {})
    found = standing(starts, full_chain(longer, starts), planned=longer.starts, margin=0.03)
    assert found.looks == [3, 6]
    assert longer.rule.levels == plan.rule.levels


@pytest.mark.parametrize("starts", [2, 3, 13])
def test_an_extension_has_bounds(make_plan: Any, starts: int) -> None:
    with pytest.raises(ValueError, match="from 4 to 12"):
        extend(make_plan(["a", "b"], starts=3), starts)


def test_an_engine_that_never_ran_does_not_hold_up_the_others(
    make_plan: Any, fake_cell: Any
) -> None:
    rng = random.Random(1)
    plan = make_plan(["a", "b", "dead"], starts=5)
    base = {"a": 100, "b": 200, "dead": 1}
    done = drive(
        plan,
        lambda c, s: fake_cell(
            c, s, base[c] * rng.gauss(1, 0.002), valid=c != "dead", completed=20 * (c != "dead")
        ),
    )
    counts = {name: sum(c.candidate == name for c in done) for name in base}
    assert counts == {"a": 3, "b": 3, "dead": 3}
