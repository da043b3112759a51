"""Known truth through the deciding rule: the small form of ``make bench-stats``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from seatrial.plan.duel import duels, positions
from seatrial.stats import proportion_interval

PLANNED, MARGIN, TRIALS = 5, 0.03, 1500


def planted(gap: float, spread: float, disturbance: str, trials: int = TRIALS) -> np.ndarray:
    """Outcomes of trials in which b is slower by ``gap``."""
    rng = np.random.default_rng(17)
    y = rng.normal(0, spread, (trials, 2, PLANNED + 1))
    y[:, 1] += np.log1p(gap)
    if disturbance == "drift":
        y += 0.1 * positions(PLANNED, 1) / (2 * PLANNED - 1)
    if disturbance == "one start off":
        where = (np.arange(trials), rng.integers(0, 2, trials), rng.integers(0, PLANNED, trials))
        y[where] += np.where(rng.random(trials) < 0.5, np.log(1.3), np.log(0.7))
    return duels(y, planned=PLANNED, margin=MARGIN).outcome


@pytest.mark.parametrize("disturbance", ["none", "drift", "one start off"])
@pytest.mark.parametrize("spread", [0.01, 0.03, 0.06])
@pytest.mark.parametrize("gap", [0.0, 0.03])
def test_false_winners_are_not_above_five_per_cent(
    gap: float, spread: float, disturbance: str
) -> None:
    found = planted(gap, spread, disturbance)
    false = int(((found == "better") | (found == "worse")).sum())
    assert proportion_interval(false, TRIALS, 0.99).low <= 0.05
    assert false / TRIALS <= 0.065
    if gap == 0.0:
        assert false / TRIALS <= 0.03


@pytest.mark.parametrize("disturbance", ["none", "drift", "one start off"])
@pytest.mark.parametrize("spread", [0.01, 0.03])
def test_ten_per_cent_is_found_with_five_starts(spread: float, disturbance: str) -> None:
    found = planted(0.10, spread, disturbance)
    right = int((found == "better").sum())
    assert proportion_interval(right, TRIALS, 0.99).high >= 0.90
    assert right / TRIALS >= 0.88


def test_at_six_per_cent_undecided_is_the_usual_answer() -> None:
    assert (planted(0.10, 0.06, "none") == "undecided").mean() > 0.5


@pytest.mark.parametrize("disturbance", ["none", "drift", "one start off"])
def test_equivalence_is_found_when_there_is_no_difference(disturbance: str) -> None:
    assert (planted(0.0, 0.01, disturbance) == "equivalent").mean() >= 0.95


def test_a_large_difference_ends_after_three_starts() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(0, 0.01, (200, 2, PLANNED + 1))
    y[:, 1] += np.log(1.3)
    found = duels(y, planned=PLANNED, margin=MARGIN)
    assert (found.outcome == "better").all()
    assert (found.starts == 3).mean() > 0.7


def bench_module() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "bench" / "stats.py"
    spec = importlib.util.spec_from_file_location("bench_stats", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_stats"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_whole_grid_of_the_benchmark() -> None:
    bench = bench_module()
    rows = [
        row
        for effect in bench.EFFECTS
        for spread in bench.SPREADS
        for disturbance in bench.DISTURBANCES
        for row in bench.cell(effect, spread, disturbance, 250 * effect.weight, 100)
    ]
    assert len(rows) == 162
    for row in rows:
        false = round(row["false_winner"] * row["trials"])
        assert proportion_interval(false, row["trials"], 0.999).low <= 0.05, row
    tail = [r for r in rows if "tail" in r["effect"] and r["spread"] == 0.01]
    assert all(r["winner"] > 0.6 for r in tail if r["metric"] == "p95")
    assert all(r["winner"] == 0 for r in tail if r["metric"] == "p50")
