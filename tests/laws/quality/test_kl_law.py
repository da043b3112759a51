"""Laws of the KL bound over random distributions and random cuts of the lists."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from seatrial.quality.divergence import kl_bound

weights = st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=30)


def shares(values: list[float]) -> list[float]:
    total = sum(values)
    return [value / total for value in values]


def listed(probabilities: list[float], keep: int) -> list[tuple[str, float]]:
    pairs = [(str(i), math.log(p)) for i, p in enumerate(probabilities)]
    return sorted(pairs, key=lambda pair: -pair[1])[:keep]


@given(weights, st.data())
def test_never_above_the_true_divergence_and_never_negative(values, data):
    p = shares(values)
    q = shares(data.draw(st.permutations(values)))
    truth = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    keep_p = data.draw(st.integers(1, len(p)))
    keep_q = data.draw(st.integers(1, len(q)))
    bound = kl_bound(listed(p, keep_p), listed(q, keep_q))
    assert 0.0 <= bound <= truth + 1e-9


@given(weights)
def test_whole_lists_give_the_true_divergence(values):
    p, q = shares(values), shares(values[::-1])
    truth = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert math.isclose(kl_bound(listed(p, 99), listed(q, 99)), max(truth, 0.0), abs_tol=1e-9)
