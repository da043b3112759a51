"""One start that does not belong."""

from __future__ import annotations

import numpy as np

from seatrial.stats import outlying

ARM = np.repeat([0, 1], 5)


def test_one_start_thirty_per_cent_off_is_found() -> None:
    y = np.random.default_rng(1).normal(0, 0.02, 10) + 0.1 * ARM
    y[2] += np.log(1.3)
    assert np.flatnonzero(outlying(y, ARM)).tolist() == [2]


def test_ordinary_noise_is_left_alone() -> None:
    y = np.random.default_rng(2).normal(size=(20000, 10))
    assert outlying(y, ARM).any(axis=1).mean() <= 0.012


def test_too_few_starts_flag_nothing() -> None:
    y = np.array([0, 0, 9, 0, 0, 0.0])
    assert not outlying(y, np.repeat([0, 1], 3)).any()


def test_equal_values_flag_nothing() -> None:
    assert not outlying(np.zeros(10), ARM).any()
