"""Arrival processes: seeded, ascending, with the stated rate and burstiness."""

from __future__ import annotations

import numpy as np
import pytest

from seatrial.core.errors import UsageError
from seatrial.loadgen import schedule

N = 20_000


def gaps(times):
    return np.diff(times) / 1e9


def test_constant_is_exact():
    assert list(schedule.constant(10, 4)) == [0, 100_000_000, 200_000_000, 300_000_000]


@pytest.mark.parametrize("cv", [0.3, 1.0, 3.0])
def test_gamma_has_its_mean_and_cv(cv):
    found = gaps(schedule.gamma(50, N, 1, cv=cv))
    assert found.mean() == pytest.approx(0.02, rel=0.08)
    assert found.std() / found.mean() == pytest.approx(cv, rel=0.06)


def test_same_seed_same_bytes():
    assert (schedule.poisson(5, 100, 1) == schedule.poisson(5, 100, 1)).all()
    assert (schedule.poisson(5, 100, 1) != schedule.poisson(5, 100, 2)).any()


def test_on_off_is_silent_when_off_and_keeps_the_mean():
    times = schedule.on_off(10, N, 1, on_s=2, off_s=3) / 1e9
    assert ((times % 5) <= 2.0001).all()
    assert N / times[-1] == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(("start", "end"), [(2, 20), (20, 2), (5, 5)])
def test_a_ramp_goes_from_one_rate_to_the_other(start, end):
    times = schedule.ramp(start, end, N, 1) / 1e9
    assert (np.diff(times) >= 0).all()
    edge = times[-1] / 20
    assert (times < edge).sum() / edge == pytest.approx(start + (end - start) / 40, rel=0.12)
    assert (times > times[-1] - edge).sum() / edge == pytest.approx(
        end - (end - start) / 40, rel=0.12
    )


def test_nonsense_is_refused():
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError):
            schedule.constant(bad, 3)
