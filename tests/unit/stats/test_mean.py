"""Means over starts and of paired differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from seatrial.stats import bootstrap_mean, mean_interval, prediction_bound


def test_mean_interval_is_students() -> None:
    x = [1.0, 2.0, 4.0, 3.5]
    found = mean_interval(x)
    low, high = student.interval(0.95, 3, np.mean(x), np.std(x, ddof=1) / 2)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_start_says_nothing_of_the_next() -> None:
    assert mean_interval([3.0]).high == np.inf
    assert prediction_bound([3.0]) == np.inf


def test_prediction_bound_holds_the_next_start_as_often_as_it_says() -> None:
    x = np.random.default_rng(1).normal(size=(4000, 5))
    hit = [row[4] <= prediction_bound(row[:4]) for row in x]
    assert abs(np.mean(hit) - 0.95) < 0.015


def test_bootstrap_is_a_function_of_the_seed() -> None:
    x = np.random.default_rng(1).normal(1, 2, 200)
    one, two = bootstrap_mean(x, seed=4), bootstrap_mean(x, seed=4)
    assert one == two
    assert one.low < x.mean() < one.high
    assert one.high - one.low == pytest.approx(2 * 1.96 * x.std() / np.sqrt(200), rel=0.15)
