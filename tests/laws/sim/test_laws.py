"""The numbered laws of the simulator, over random loads, limits, costs and every policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.fit.cost import StepCost
from seatrial.sim.fast import Run, jump_loop
from seatrial.sim.load import Load, make_load
from seatrial.sim.policies import POLICIES
from seatrial.sim.policy import STATIC, Limits, Policy
from seatrial.sim.result import SimResult, Step
from seatrial.sim.state import State
from seatrial.sim.steps import step_loop

FAST = sorted(name for name, policy in POLICIES.items() if policy.mode >= 0)


@st.composite
def loads(draw: st.DrawFn) -> Load:
    n = draw(st.integers(1, 14))
    gaps = draw(st.lists(st.floats(0, 0.3), min_size=n, max_size=n))
    lengths = st.lists(st.integers(1, 60), min_size=n, max_size=n)
    inputs = np.array(draw(lengths))
    shares = np.array(draw(st.lists(st.floats(0, 0.99), min_size=n, max_size=n)))
    cached = np.floor(inputs * shares).astype(np.int64) if draw(st.booleans()) else None
    if cached is not None:
        cached = np.minimum(cached, inputs - 1)
    return make_load(np.cumsum(gaps), inputs, np.array(draw(lengths)), cached)


@st.composite
def settings_of(draw: st.DrawFn, load: Load, policy: Policy) -> tuple[Limits, StepCost]:
    block = draw(st.sampled_from([1, 4, 16]))
    longest = int((load.input + load.output).max())
    reserve = longest if policy.mode == STATIC or draw(st.booleans()) else 0
    least = -(-longest // block)
    limits = Limits(
        max_seqs=draw(st.integers(1, 6)),
        token_budget=draw(st.integers(6, 90)),
        blocks=least + draw(st.integers(0, 2 * least)),
        block_tokens=block,
        reserve_tokens=reserve,
        swap_block_s=draw(st.sampled_from([0.0, 1e-4, 0.05])),
        host_blocks=draw(st.sampled_from([0, 5, 1 << 20])),
    )
    part = st.floats(0, 1e-3)
    cost = StepCost(
        step=draw(st.floats(1e-3, 0.05)),
        prefill=draw(part),
        decode=draw(part),
        context=draw(st.floats(0, 1e-4)),
        attention=draw(st.floats(0, 1e-6)),
    )
    return limits, cost


case = st.data()


def draw_all(data: Any, name: str) -> tuple[Load, Policy, Limits, StepCost]:
    load, policy = data.draw(loads()), POLICIES[name]
    limits, cost = data.draw(settings_of(load, policy))
    return load, policy, limits, cost


@pytest.mark.parametrize("name", FAST)
@given(data=case)
@settings(max_examples=40, deadline=None)
def test_fast_equals_step_loop(name: str, data: Any):
    load, policy, limits, cost = draw_all(data, name)
    slow = step_loop(load, policy, limits, cost)
    fast = jump_loop(load, policy, limits, cost, plain=True)
    np.testing.assert_allclose(fast.first_token, slow.first_token, rtol=1e-9)
    np.testing.assert_allclose(fast.finish, slow.finish, rtol=1e-9)
    assert (fast.preempted == slow.preempted).all()
    assert fast.steps == slow.steps


class Watcher:
    """Checks laws 2 to 5 and 8 at every step."""

    def __init__(self, load: Load, policy: Policy, limits: Limits) -> None:
        self.load, self.policy, self.limits = load, policy, limits
        self.ended = 0.0

    def __call__(self, step: Step, state: State) -> None:
        held = sum(s.blocks for s in state.running)
        assert state.free + held == self.limits.blocks  # law 2
        assert state.free >= 0
        for s in state.running:
            assert s.blocks * self.limits.block_tokens >= s.kv
        assert all(s.blocks == 0 for s in state.waiting)
        on_host = sum(s.on_host for s in state.waiting)
        assert state.host_free + on_host == self.limits.host_blocks  # law 8
        assert state.host_free >= 0
        assert all(s.on_host == 0 for s in state.running)
        assert len(state.running) <= self.limits.max_seqs
        assert step.started >= self.ended  # law 3
        assert step.ended > step.started
        if step.started > self.ended and self.ended:  # law 5: it waited, so nothing was there
            since = self.load.arrival[self.load.arrival < step.started]
            assert not ((since > self.ended) & (since < step.started)).any()
        self.ended = step.ended
        for s in [*state.running, *state.waiting]:
            assert s.arrival <= step.ended  # law 4


@pytest.mark.parametrize("name", sorted(POLICIES))
@given(data=case)
@settings(max_examples=30, deadline=None)
def test_conservation_clock_and_work(name: str, data: Any):
    load, policy, limits, cost = draw_all(data, name)
    result = step_loop(load, policy, limits, cost, watch=Watcher(load, policy, limits))
    assert np.isfinite(result.finish).all()  # law 1
    assert (load.arrival <= result.first_token).all()
    assert (result.first_token <= result.finish).all()
    fewest = cost.step * load.output  # each token of an answer needs a step of its own
    assert (result.e2e >= fewest - 1e-12).all()


@pytest.mark.parametrize("name", sorted(POLICIES))
@given(data=case)
@settings(max_examples=40, deadline=None)
def test_no_policy_peeks_at_output_lengths(name: str, data: Any):
    """Law 6: until the first answer ends, longer answers change nothing."""
    load, policy, limits, cost = draw_all(data, name)
    longer = make_load(load.arrival, load.input, load.output + 40, load.cached)
    reserve = limits.reserve_tokens and limits.reserve_tokens + 40
    blocks = limits.blocks + -(-40 // limits.block_tokens) * 3
    limits = Limits(
        max_seqs=limits.max_seqs,
        token_budget=limits.token_budget,
        blocks=blocks,
        block_tokens=limits.block_tokens,
        reserve_tokens=reserve,
        swap_block_s=limits.swap_block_s,
        host_blocks=limits.host_blocks,
    )
    one = step_loop(load, policy, limits, cost, keep_steps=True)
    other = step_loop(longer, policy, limits, cost, keep_steps=True)
    end = one.finish.min()
    assert [s for s in one.timeline if s.ended < end] == [
        s for s in other.timeline if s.ended < end
    ]


@pytest.mark.parametrize("name", FAST)
@given(data=case)
@settings(max_examples=20, deadline=None)
def test_same_input_same_bytes_and_pieces_change_nothing(name: str, data: Any):
    """Law 7, and the trace may come in pieces of any size."""
    load, policy, limits, cost = draw_all(data, name)
    whole = jump_loop(load, policy, limits, cost, plain=True)
    again = jump_loop(load, policy, limits, cost, plain=True)
    assert whole.finish.tobytes() == again.finish.tobytes()
    cut = data.draw(st.integers(0, load.n))
    halves = [part(load, 0, cut), part(load, cut, load.n)]
    run = Run(policy, limits, cost, plain=True)
    finish = np.full(load.n, np.nan)
    for number, _, finished, _ in run.pieces([half for half in halves if half.n]):
        finish[number] = finished
    np.testing.assert_allclose(finish, whole.finish, rtol=1e-12)


def part(load: Load, start: int, end: int) -> Load:
    columns = (load.arrival, load.input, load.output, load.cached)
    return Load(*(column[start:end] for column in columns))


def test_a_queue_longer_than_the_ring_is_kept():
    n = 6000
    load = make_load(np.zeros(n), np.full(n, 3), np.full(n, 2))
    limits = Limits(max_seqs=2, token_budget=16, blocks=64)
    result: SimResult = jump_loop(
        load, POLICIES["chunked-prefill"], limits, StepCost(step=1e-3, prefill=0, decode=0)
    )
    assert np.isfinite(result.finish).all()
    assert (np.diff(result.first_token) >= 0).all()
