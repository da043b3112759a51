"""Drift: planted slopes are found, outliers and the warm-up are not taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.lifecycle.endurance import drift


@given(st.floats(-1e3, 1e3), st.floats(0, 1e6), st.integers(40, 400))
def test_a_planted_slope_is_found(slope: float, start: float, count: int) -> None:
    seconds = 100.0
    values = [(t := i * seconds / count, start + slope * t) for i in range(count)]
    found = drift(values, seconds)
    assert found is not None
    # quarters hold whole samples: their middles are off by at most one step
    assert found == pytest.approx(slope * 3600, abs=abs(slope) * 3600 * 4 / count + 1e-3)


def test_the_warm_up_and_a_single_outlier_do_not_count() -> None:
    values = [(float(t), 1e9 if t < 20 or t == 90 else 5.0) for t in range(100)]
    assert drift(values, 100.0) == 0.0


def test_too_few_values_state_nothing() -> None:
    assert drift([(30.0, 1.0), (80.0, 2.0)], 100.0) is None
    assert drift([], 1.0) is None
