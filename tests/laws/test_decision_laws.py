"""What must hold of every comparison, standing and plan, whatever the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.plan import Objective, Start, interleave, standing
from seatrial.stats import Outcome, compare, holm, percentile
from seatrial.stats.percentile import order_statistic_ranks

finite = st.floats(-5, 5, allow_nan=False)
starts = st.lists(finite, min_size=2, max_size=6)
LINK = Objective(metric="y", log=True, higher_is_better=False)
FLIP = {"better": "worse", "worse": "better", "equivalent": "equivalent", "undecided": "undecided"}


def versus(a: list[float], b: list[float], **more: Any) -> Any:
    fields: dict[str, Any] = {
        "metric": "y",
        "a": "A",
        "b": "B",
        "y_a": a,
        "y_b": b,
        "position_a": range(0, 2 * len(a), 2),
        "position_b": range(1, 2 * len(b) + 1, 2),
        "margin": 0.03,
        "alpha": 0.05,
        "log": True,
        "higher_is_better": False,
    }
    return compare(**(fields | more))


@settings(deadline=None)
@given(starts, starts)
def test_swapping_the_arms_swaps_the_claim(a: list[float], b: list[float]) -> None:
    one = versus(a, b)
    other = versus(
        b,
        a,
        position_a=range(1, 2 * len(b) + 1, 2),
        position_b=range(0, 2 * len(a), 2),
    )
    assert other.outcome.value == FLIP[one.outcome.value]


@settings(deadline=None)
@given(starts, starts, st.floats(0.001, 0.049), st.floats(0.0, 0.5))
def test_a_stricter_level_never_claims_more(
    a: list[float], b: list[float], alpha: float, margin: float
) -> None:
    strict = versus(a, b, alpha=alpha, margin=margin)
    loose = versus(a, b, alpha=0.05, margin=margin)
    assert strict.outcome in (loose.outcome, Outcome.UNDECIDED)


@settings(deadline=None)
@given(starts, starts, finite)
def test_a_common_factor_changes_nothing(a: list[float], b: list[float], shift: float) -> None:
    one = versus(a, b)
    other = versus([x + shift for x in a], [x + shift for x in b])
    # A shift rounds; a claim may only differ where its p-value sits on the level.
    on_edge = any(abs(p - 0.05) < 1e-6 for p in (one.p_better, one.p_worse, one.p_equivalent))
    assert one.outcome is other.outcome or on_edge or one.delta.high - one.delta.low < 1e-9


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_only_raises_and_keeps_the_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert (adjusted >= np.array(p) - 1e-12).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= -1e-12).all()


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=200), st.floats(0, 1))
def test_a_percentile_lies_among_the_values(values: list[float], q: float) -> None:
    assert min(values) <= percentile(values, q) <= max(values)


@settings(deadline=None)
@given(st.integers(1, 2000), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_ranks_are_ordered_and_inside(n: int, q: float) -> None:
    ranks = order_statistic_ranks(n, q)
    if ranks.low is not None and ranks.high is not None:
        assert 1 <= ranks.low <= ranks.high <= n


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.integers(1, 6), st.integers(0, 10**6), st.floats(0.0, 0.3))
def test_a_standing_is_a_partition_and_ignores_names(
    arms: int, planned: int, seed: int, gap: float
) -> None:
    rng = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(arms)]
    have: dict[str, list[Start]] = {name: [] for name in names}
    for cell in interleave(names, planned, seed):
        i = names.index(cell.candidate)
        y = float(np.exp(rng.normal(gap * i, 0.02)))
        have[cell.candidate].append(Start(cell.start, cell.position, {"y": y}))
    found = standing(have, [LINK], planned=planned, margin=0.03)
    groups = [{found.leader}, set(found.worse), set(found.equivalent), set(found.open)]
    assert sum(map(len, groups)) == arms
    assert set().union(*groups) == set(names)
    assert all(c.a not in found.worse or found.worse[c.a] is not c for c in found.worse.values())
    renamed = {f"x{name}": value for name, value in have.items()}
    again = standing(renamed, [LINK], planned=planned, margin=0.03)
    assert again.leader == f"x{found.leader}"
    assert set(again.worse) == {f"x{name}" for name in found.worse}
