"""The comparison over starts: claims, their symmetry, and what it must not claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from seatrial.stats import Outcome, compare, holm
from seatrial.stats.compare import contrast, p_values

ORDER = [(0, 3, 4, 7, 8), (1, 2, 5, 6, 9)]  # A B B A A B B A A B


def run(a: Any, b: Any, **more: Any) -> Any:
    fields: dict[str, Any] = {
        "metric": "m",
        "a": "A",
        "b": "B",
        "y_a": a,
        "y_b": b,
        "position_a": ORDER[0][: len(a)],
        "position_b": ORDER[1][: len(b)],
        "margin": 0.03,
        "alpha": 0.05,
        "log": True,
        "higher_is_better": False,
    }
    return compare(**(fields | more))


def test_a_faster_candidate_is_better_and_the_other_worse() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 0.01, 5), rng.normal(0.2, 0.01, 5)
    found = run(a, b)
    assert found.outcome is Outcome.BETTER
    assert found.ratio.low < np.exp(-0.2) < found.ratio.high
    swapped = run(b, a, position_a=ORDER[1], position_b=ORDER[0])
    assert swapped.outcome is Outcome.WORSE
    assert swapped.delta.best == pytest.approx(-found.delta.best)


def test_a_real_difference_inside_the_margin_is_no_winner() -> None:
    a = np.array([0.0, 0.001, -0.001, 0.0005, -0.0005])
    assert run(a, a + 0.02).outcome is Outcome.EQUIVALENT


def test_noise_is_undecided() -> None:
    rng = np.random.default_rng(2)
    assert run(rng.normal(0, 0.1, 5), rng.normal(0, 0.1, 5)).outcome is Outcome.UNDECIDED


def test_linear_drift_does_not_move_the_difference() -> None:
    y = np.zeros(10)
    y[list(ORDER[1])] = 0.1
    y += 0.5 * np.arange(10)
    found = run(y[list(ORDER[0])], y[list(ORDER[1])])
    assert found.delta.best == pytest.approx(0.1)
    assert found.delta.low == pytest.approx(0.1)


def test_one_start_of_each_allows_no_claim() -> None:
    found = run([0.0], [1.0])
    assert found.outcome is Outcome.UNDECIDED
    assert found.delta.high == np.inf


def test_infinite_or_missing_values_allow_no_claim() -> None:
    assert run([0, 0, np.inf], [1, 1, 1]).outcome is Outcome.UNDECIDED
    assert run([0, 0, np.nan], [1, 1, 1]).outcome is Outcome.UNDECIDED


def test_no_spread_at_all_is_decided_by_the_point() -> None:
    assert run([1.0] * 3, [1.0] * 3, log=False).outcome is Outcome.EQUIVALENT
    assert run([0.9] * 3, [1.0] * 3, log=False).outcome is Outcome.BETTER


def test_alpha_zero_allows_no_claim() -> None:
    assert run([0.0, 0.01], [1.0, 1.01], alpha=0.0).outcome is Outcome.UNDECIDED


def test_without_drift_it_is_welchs_test() -> None:
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(5)
    y = rng.normal(size=4)
    found = contrast(y, [True, True, False, False], [0, 1, 2, 3])
    p = p_values(found, 0.0)
    other = ttest_ind(y[:2], y[2:], equal_var=False, alternative="greater")
    assert float(p.better) == pytest.approx(other.pvalue)


def test_stacks_of_trials_equal_single_ones() -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(size=(7, 10))
    arm = np.arange(10) % 2 == 0
    together = contrast(y, arm, np.arange(10))
    for i in range(7):
        alone = contrast(y[i], arm, np.arange(10))
        assert np.allclose([*alone], [together.delta[i], together.se[i], together.df[i]])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]).size == 0
