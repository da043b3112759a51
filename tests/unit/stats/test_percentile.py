"""Percentiles and their order-statistic intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from seatrial.stats import percentile, percentile_interval, values_needed
from seatrial.stats.percentile import order_statistic_ranks


def test_percentile_is_numpys_linear_rule() -> None:
    x = np.random.default_rng(1).lognormal(size=137)
    for q in (0, 0.5, 0.9, 0.95, 0.99, 1):
        assert percentile(x, q) == pytest.approx(np.percentile(x, 100 * q), rel=1e-12)


def test_failures_as_infinity_reach_a_percentile_only_when_enough_fail() -> None:
    x = np.r_[np.arange(95.0), np.full(5, np.inf)]
    assert percentile(x, 0.9) < 95
    assert percentile(x, 0.99) == np.inf


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        percentile([1.0, float("nan")], 0.5)


@pytest.mark.parametrize(("n", "q"), [(100, 0.5), (200, 0.95), (500, 0.99), (72, 0.95)])
def test_ranks_cover_by_the_binomial(n: int, q: float) -> None:
    ranks = order_statistic_ranks(n, q)
    assert ranks.low is not None
    # The quantile lies below X_(l) when fewer than l values lie below it, and so on.
    assert binom.cdf(ranks.low - 1, n, q) <= 0.025 < binom.cdf(ranks.low, n, q)
    if ranks.high is not None:
        assert binom.sf(ranks.high - 1, n, q) <= 0.025 < binom.sf(ranks.high - 2, n, q)


def test_too_few_values_give_no_interval() -> None:
    n = values_needed(0.95)
    x = np.arange(float(n))
    assert percentile_interval(x, 0.95) is not None
    assert percentile_interval(x[:-1], 0.95) is None
    assert n == 72  # GuideLLM states the same number
    assert values_needed(0.99) == 368


def test_interval_holds_the_true_quantile_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    truth = np.exp(1.6448536269514722 * 0.5)
    hit = 0
    for _ in range(2000):
        found = percentile_interval(rng.lognormal(0, 0.5, 200), 0.95)
        hit += found is not None and found.low <= truth <= found.high
    assert hit / 2000 > 0.935
