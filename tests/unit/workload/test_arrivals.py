"""Arrivals: burstiness, grain, pauses; against definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.workload.arrivals import Grain, arrivals, batch_grain, counts, dense, dispersion

S = 10**9


@settings(deadline=None)
@given(st.lists(st.integers(0, 500 * S), min_size=2, max_size=80), st.sampled_from([1, 60]))
def test_bins_are_those_of_the_definition(times: list[int], width: int) -> None:
    ordered = np.sort(np.array(times, dtype=np.int64))
    sparse, bins = counts(ordered, width)
    every = np.bincount((ordered - ordered[0]) // (width * S))
    assert bins == len(every)
    assert dense(sparse, bins) == every.tolist()
    assert dispersion(sparse[:, 1], bins) == pytest.approx(every.var() / every.mean())


def test_poisson_has_dispersion_and_cv_of_one() -> None:
    gaps = np.random.default_rng(1).exponential(S / 20, 100_000)
    got = arrivals(np.cumsum(gaps).astype(np.int64), 1)
    assert got is not None
    assert got.cv_interarrival == pytest.approx(1, abs=0.02)
    assert got.dispersion["1s"] == pytest.approx(1, abs=0.05)
    assert got.dispersion["60s"] == pytest.approx(1, abs=0.4)


def test_batched_stamps_have_no_cv_but_a_grain() -> None:
    """Poisson requests stamped every 3 s: the naive CV is an artefact, the dispersion is not."""
    true = np.cumsum(np.random.default_rng(2).exponential(S / 10, 40_000)).astype(np.int64)
    stamped = true // (3 * S) * (3 * S)
    got = arrivals(stamped - stamped[0], 1_000_000)
    assert got is not None
    assert got.grain_s == pytest.approx(3)
    assert got.cv_interarrival is None
    assert got.cv_interarrival_naive is not None
    assert got.cv_interarrival_naive > 4
    assert got.interarrival_s is None
    assert got.dispersion["1s"] is None
    assert got.peak_per_second is None
    assert got.dispersion["60s"] is None  # 20 stamps a bin, but not on a known grid
    assert got.dispersion_full_bins["600s"] == pytest.approx(1, abs=1.5)


def test_a_known_grid_hides_only_what_does_not_divide() -> None:
    true = np.cumsum(np.random.default_rng(4).exponential(S / 2, 40_000)).astype(np.int64)
    whole_seconds = true // S * S
    got = arrivals(whole_seconds - whole_seconds[0], S)
    assert got is not None
    assert got.cv_interarrival is None
    assert got.dispersion_full_bins["1s"] == pytest.approx(1, abs=0.1)
    assert got.dispersion_full_bins["60s"] == pytest.approx(1, abs=0.3)
    assert not Grain(3 * S, 1).shows(10 * S, 1000, 1000 * S)
    assert Grain(3 * S, 1).shows(60 * S, 1000, 1000 * S)


def test_the_last_partial_bin_is_told_apart() -> None:
    got = arrivals(np.arange(0, 125 * S, S // 100, dtype=np.int64), 1)
    assert got is not None
    assert got.dispersion["60s"] is not None
    assert got.dispersion["60s"] > 1000
    assert got.dispersion_full_bins["60s"] == 0


def test_bursts_are_not_taken_for_batches() -> None:
    random = np.random.default_rng(3)
    gaps = np.where(random.random(5000) < 0.6, 0, random.exponential(S, 5000)).astype(np.int64)
    assert batch_grain(gaps) is None


def test_a_year_of_silence_costs_no_memory() -> None:
    times = np.array([0, 1, 2 * S, 3 * 365 * 86_400 * S], dtype=np.int64)
    got = arrivals(times, 1)
    assert got is not None
    assert got.per_minute is None
    assert got.peak_per_second == 2


def test_pauses_are_found() -> None:
    busy = np.arange(0, 1000 * S, S, dtype=np.int64)
    got = arrivals(np.concatenate((busy, busy + 100_000 * S)), 1)
    assert got is not None
    assert got.on_share == pytest.approx(2000 / 101_000, rel=0.01)


def test_one_arrival_has_no_arrivals() -> None:
    assert arrivals(np.array([0], dtype=np.int64), 1) is None
    assert arrivals(np.array([0, 0], dtype=np.int64), 1) is None


def test_hours_of_day_and_week() -> None:
    """One request an hour, and ten every Tuesday at 9 UTC, over two weeks from a Monday."""
    monday = 1_704_067_200 * S  # 1 January 2024, a Monday
    hourly = np.arange(0, 14 * 24 + 1) * 3600 * S
    tuesdays = np.concatenate([(d * 24 + 9) * 3600 * S + np.arange(10) * S for d in (1, 8)])
    times = np.sort(np.concatenate((hourly, tuesdays))).astype(np.int64)
    got = arrivals(times, 1, monday)
    assert got is not None
    assert got.per_hour_of_week is not None
    assert got.per_hour_of_week[24 + 9] == pytest.approx(11)
    assert got.per_hour_of_week[9] == pytest.approx(1)
    assert got.per_hour_of_day is not None
    assert got.per_hour_of_day[9] == pytest.approx(1 + 20 / 14)
    assert arrivals(times, 1) is not None
    assert arrivals(times, 1).per_hour_of_day is None  # type: ignore[union-attr]
