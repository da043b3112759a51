"""What requests wait for, in situations where it is known."""

from __future__ import annotations

import numpy as np
import pytest

from seatrial.fit.cost import StepCost
from seatrial.sim import POLICIES, Limits, Load, make_load
from seatrial.sim.bottleneck import bottleneck, reasons
from seatrial.sim.whatif import curves

COST = StepCost(step=0.01, prefill=1e-4, decode=1e-3, context=1e-6)
POLICY = POLICIES["chunked-prefill"]


def crowd(n: int = 30, length: int = 64) -> Load:
    """All at once."""
    return make_load(np.zeros(n), np.full(n, length), np.full(n, 40))


@pytest.mark.parametrize(
    ("lacking", "limits"),
    [
        ("place", Limits(max_seqs=2, token_budget=4096, blocks=10_000)),
        ("blocks", Limits(max_seqs=64, token_budget=4096, blocks=16)),
        ("budget", Limits(max_seqs=64, token_budget=65, blocks=10_000)),
    ],
)
def test_what_is_scarce_is_named(lacking: str, limits: Limits):
    found, result = bottleneck(crowd(), POLICY, limits, COST)
    assert max(found.lacked, key=lambda name: found.lacked[name]) == lacking
    assert sum(found.lacked.values()) == pytest.approx(1)
    assert sum(found.time.values()) == pytest.approx(1)
    assert found.busy == pytest.approx(1)
    assert len(result.timeline) == result.steps


def test_an_engine_with_room_makes_nobody_wait():
    calm = make_load(np.arange(20) * 10.0, np.full(20, 64), np.full(20, 10))
    found, _ = bottleneck(calm, POLICY, Limits(), COST)
    assert found.waited == 0
    assert found.busy < 0.1
    assert set(found.lacked.values()) == {0.0}
    assert "busy" in reasons(found)["traffic"]


def test_curves_pass_through_the_baseline_and_more_traffic_is_slower():
    load = make_load(np.cumsum(np.full(60, 0.2)), np.full(60, 64), np.full(60, 40))
    limits = Limits(max_seqs=4, token_budget=512, blocks=1000)
    found = {curve.variable: curve for curve in curves(load, POLICY, limits, COST)}
    for curve in found.values():
        assert curve.baseline in [value for value, _ in curve.points]
    ttft = [metrics["ttft_ms.p99"] for _, metrics in found["traffic"].points]
    assert ttft[0] < ttft[-1] == max(ttft)
