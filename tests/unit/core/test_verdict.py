from __future__ import annotations

import itertools

from seatrial.core.verdict import Verdict, worst


def test_nothing_looked_at_is_unknown_and_unknown_is_not_a_pass() -> None:
    assert worst([]) is Verdict.UNKNOWN
    assert worst([Verdict.FEASIBLE, Verdict.UNKNOWN]) is Verdict.UNKNOWN


def test_one_infeasible_layer_decides_whatever_the_order() -> None:
    for order in itertools.permutations(Verdict):
        assert worst(order) is Verdict.INFEASIBLE


def test_a_documented_loss_stays_visible() -> None:
    assert worst([Verdict.FEASIBLE, Verdict.DEGRADED]) is Verdict.DEGRADED
    assert worst([Verdict.CONDITIONAL, Verdict.DEGRADED]) is Verdict.CONDITIONAL
