"""Warm-up and steady state."""

from __future__ import annotations

import numpy as np
import pytest

from seatrial.stats.steady import busy_window, mser


@pytest.mark.parametrize("length", [50, 100])
def test_a_slow_beginning_is_left_out(length: int) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(100, 3, 400)
    x[:length] += np.linspace(80, 5, length)
    found = mser(x)
    assert found.found
    assert abs(found.skip - length) <= 20
    assert found.mean_steady == pytest.approx(100, abs=1)
    assert found.mean_all > found.mean_steady + 3


def test_nothing_is_cut_from_noise() -> None:
    rng = np.random.default_rng(2)
    cut = [mser(rng.lognormal(0, 0.3, 300)).skip for _ in range(50)]
    assert np.median(cut) <= 30


def test_a_series_that_never_settles_is_not_found() -> None:
    found = mser(np.linspace(1, 10, 300))
    assert not found.found
    assert found.skip == 0


def test_too_few_values() -> None:
    assert not mser(np.ones(49)).found


def test_meas_029_busy_window_leaves_out_ramp_and_drain() -> None:
    start = np.concatenate([np.arange(10.0), np.arange(10.0, 100.0)])
    end = start + 10.0
    low, high = busy_window(start, end)  # type: ignore[misc]
    assert 6 <= low <= 9
    assert 100 <= high <= 103
    assert busy_window([], []) is None
