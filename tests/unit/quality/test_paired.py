"""McNemar and Newcombe against published and hand values; non-inferiority by the rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.provenance import provenance
from seatrial.quality.paired import mcnemar, newcombe, paired
from seatrial.quality.tasks import SCORES_SCHEMA, Scores, compare_tasks


def test_mcnemar_exact():
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(5, 0) == pytest.approx(2 * 0.5**5)
    assert mcnemar(10, 2) == pytest.approx(2 * (1 + 12 + 66) / 4096)
    assert mcnemar(2, 10) == mcnemar(10, 2)


def test_newcombe_reproduces_the_papers_example():
    # Newcombe 1998, table II, cells 36, 12, 2, 0: method 10 gives 0.0569 to 0.3404 for b - c
    found = newcombe(36, 2, 12, 0)
    assert found.best == pytest.approx(0.2)
    assert (found.low, found.high) == (
        pytest.approx(0.0569, abs=5e-4),
        pytest.approx(0.3404, abs=5e-4),
    )


def test_nothing_differs_is_not_certainty():
    found = newcombe(20, 0, 0, 20)
    assert found.low < 0 < found.high


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=80))
def test_the_interval_holds_the_estimate_and_turns_round_with_the_arms(pairs):
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    found, back = paired(one, other), paired(other, one)
    assert -1 - 1e-9 <= found.difference.low <= found.difference.best <= found.difference.high
    assert found.difference.low == pytest.approx(-back.difference.high)
    assert found.p == back.p


def scores(right: list[bool], name: str) -> Scores:
    ids = [f"t{i}" for i in range(len(right))]
    return Scores(
        schema=SCORES_SCHEMA,
        candidate=name,
        engine="e",
        tasks_sha256="x",
        suites=dict.fromkeys(ids, "own"),
        right=dict(zip(ids, right, strict=True)),
        errors={},
        provenance=provenance(),
    )


def verdict(reference: list[bool], candidate: list[bool]) -> str:
    (result,) = compare_tasks(scores(reference, "r"), scores(candidate, "c"), margin=0.05)
    return result.verdict


def test_the_rule():
    n = 400
    good = [i % 2 == 0 for i in range(n)]
    one_flip = [*good[:1], True, *good[2:]]
    assert verdict(good, good) == "pass"
    assert verdict(good, one_flip) == "pass"
    assert verdict(good, [False] * n) == "fail"
    lost = [value and i % 20 != 0 for i, value in enumerate(good)]
    assert verdict(good, lost) == "undecided"
    assert verdict(good[:20], good[:20]) == "undecided"
    assert verdict([False] * n, [False] * n) == "undecided"  # too hard to tell
