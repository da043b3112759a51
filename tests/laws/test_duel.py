"""The vectorised rule of the planted-truth suite is the rule that runs and decides trials."""

from __future__ import annotations

import numpy as np
import pytest

from seatrial.plan.duel import duels, positions
from seatrial.plan.record import Objective
from seatrial.plan.standing import Start, standing

LINK = Objective(metric="y", log=True, higher_is_better=False)
PLANNED = 5


def one_by_one(y: np.ndarray) -> tuple[str, int]:
    """Play one trial cell by cell in the plan's order."""
    places = positions(PLANNED, 1)
    order = sorted((places[k, s], k, s) for k in (0, 1) for s in range(PLANNED + 1))
    have: dict[str, list[Start]] = {"a": [], "b": []}
    state = standing(have, [LINK], planned=PLANNED, margin=0.03)
    for place, k, s in order:
        if s == PLANNED and not state.set_aside:
            break
        have["ab"[k]].append(Start(s + 1, int(place), {"y": float(np.exp(y[k, s]))}))
        state = standing(have, [LINK], planned=PLANNED, margin=0.03)
        if state.settled:
            break
    said = "undecided"
    if state.settled:
        said = "better" if "b" in state.worse else "worse" if "a" in state.worse else "equivalent"
    return said, state.looks[-1] if state.looks else PLANNED


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("off", [0.0, 0.3])
def test_duels_equal_standing(gap: float, off: float) -> None:
    rng = np.random.default_rng(int(10 * gap + 100 * off))
    y = rng.normal(0, 0.02, (60, 2, PLANNED + 1))
    y[:, 1] += gap
    y[np.arange(60), rng.integers(0, 2, 60), rng.integers(0, PLANNED, 60)] += off
    found = duels(y, planned=PLANNED, margin=0.03)
    seen = set()
    for i in range(60):
        said, looked = one_by_one(y[i])
        assert said == found.outcome[i]
        if said != "undecided":
            assert looked == found.starts[i]
        seen.add(said)
    assert len(seen) >= 1
