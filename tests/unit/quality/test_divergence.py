"""The KL bound: known values, and what lists that are cut do to it."""

from __future__ import annotations

import math

import pytest

from seatrial.quality.answers import Answer, Position
from seatrial.quality.divergence import answer_kl, kl_bound, shared_positions


def top(**shares: float) -> list[tuple[str, float]]:
    return [(name, math.log(share)) for name, share in shares.items()]


def test_exact_when_the_lists_cover_everything():
    p, q = top(a=0.5, b=0.3, c=0.2), top(a=0.4, b=0.4, c=0.2)
    expected = 0.5 * math.log(0.5 / 0.4) + 0.3 * math.log(0.3 / 0.4)
    assert kl_bound(p, q) == pytest.approx(expected, rel=1e-9)
    assert kl_bound(p, p) == 0.0


def test_disjoint_lists_are_far_apart_not_equal():
    assert kl_bound(top(a=0.9, b=0.05), top(c=0.9, d=0.05)) > 2.0


def test_one_list_that_is_empty_tells_nothing():
    assert kl_bound([], top(a=1.0)) == 0.0


def position(token: str, share: float = 0.5) -> Position:
    return Position(token=token, logprob=math.log(share), top=top(**{token: share}))


def answer(*tokens: str) -> Answer:
    return Answer(prompt="p", positions=[position(t) for t in tokens])


def test_positions_are_shared_up_to_and_with_the_first_difference():
    pairs = shared_positions(answer("a", "b", "c", "d"), answer("a", "x", "c", "d"))
    assert [(one.token, other.token) for one, other in pairs] == [("a", "a"), ("b", "x")]


def test_the_mean_is_over_shared_positions():
    same = answer_kl(answer("a", "b"), answer("a", "b"))
    assert same == 0.0
    half = answer_kl(answer("a", "b"), answer("a", "x"))
    only = kl_bound(position("b").top, position("x").top)
    assert half == pytest.approx(only / 2)
