"""The plain loop: one step after the other, nothing skipped. Oracle of the fast one.

    while requests are left:
        take in what has arrived; ask the policy for a batch; if there is none, wait for an arrival
        let the step's time pass; hand out tokens; let the finished go

Numbered laws, each a property test over random loads and policies (tests/laws/sim):
  1 every request finishes exactly once, with exactly its output tokens
  2 blocks: free + held = all, never negative; held blocks cover the tokens in the cache
  3 the clock never goes back; a request's arrival <= first token <= finish
  4 causality: nothing is computed before its arrival
  5 work conservation: the engine never waits while something it could admit is there
  6 no peeking: outputs of later tokens do not change anything before them
  7 same input, same bytes
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seatrial.fit.cost import StepCost
from seatrial.sim.check import check
from seatrial.sim.load import Load
from seatrial.sim.policy import STATIC, Limits, Policy
from seatrial.sim.result import SimResult, Step
from seatrial.sim.state import Batch, Sequence, State

Watch = Callable[[Step, State], None]


def step_loop(
    load: Load,
    policy: Policy,
    limits: Limits,
    cost: StepCost,
    *,
    watch: Watch | None = None,
    keep_steps: bool = False,
) -> SimResult:
    """Simulate ``load``; ``watch`` sees every step and the state after it (tests, timelines).

    Raises:
        UsageError: a request that could never be served within the limits.
    """
    check(load, policy, limits)
    state = State(limits)
    first, finish = np.full(load.n, np.nan), np.full(load.n, np.nan)
    preempted = np.zeros(load.n, dtype=np.int64)
    steps: list[Step] = []
    now, arrived, done, count = 0.0, 0, 0, 0
    while done < load.n:
        while arrived < load.n and load.arrival[arrived] <= now:
            state.waiting.append(_sequence(load, arrived))
            arrived += 1
        batch = policy.compose(state)
        if not batch:
            if arrived == load.n:
                raise AssertionError(f"{policy.name} stands still with work left")
            now = float(load.arrival[arrived])
            continue
        started = now
        now += _seconds(batch, cost)
        count += 1
        _hand_out(batch, load, now, first)
        for sequence in _gone(state, load, policy):
            finish[sequence.number] = now
            preempted[sequence.number] = sequence.preempted
            done += 1
        if watch is not None or keep_steps:
            step = _record(started, now, batch, state)
            if keep_steps:
                steps.append(step)
            if watch is not None:
                watch(step, state)
    return SimResult(
        policy=policy.name,
        load=load,
        first_token=first,
        finish=finish,
        preempted=preempted,
        steps=count,
        makespan=now,
        timeline=tuple(steps),
    )


def _sequence(load: Load, number: int) -> Sequence:
    cached, length = int(load.cached[number]), int(load.input[number])
    return Sequence(
        number=number,
        arrival=float(load.arrival[number]),
        input=length,
        cached=cached,
        to_compute=length - cached,
        kv=cached,
    )


def _seconds(batch: Batch, cost: StepCost) -> float:
    return cost.seconds(
        prefill=sum(chunk for _, chunk in batch.prefill),
        decode=len(batch.decode) + batch.padding,
        context=sum(sequence.kv + 1 for sequence in batch.decode),
        attention=sum(chunk * (sequence.kv + chunk / 2) for sequence, chunk in batch.prefill),
    )


def _hand_out(batch: Batch, load: Load, now: float, first: np.ndarray) -> None:
    for sequence, chunk in batch.prefill:
        sequence.kv += chunk
        sequence.to_compute -= chunk
        if sequence.to_compute == 0:
            sequence.generated += 1
            if np.isnan(first[sequence.number]):
                first[sequence.number] = now
    for sequence in batch.decode:
        sequence.kv += 1
        sequence.generated += 1


def _gone(state: State, load: Load, policy: Policy) -> list[Sequence]:
    """Sequences that finished in this step; a static batch leaves its place only together."""
    gone = []
    for sequence in state.running:
        if not sequence.finished and sequence.generated == load.output[sequence.number]:
            sequence.finished = True
            gone.append(sequence)
    together = policy.mode == STATIC
    if not together or all(sequence.finished for sequence in state.running):
        for sequence in [s for s in state.running if s.finished]:
            state.finish(sequence)
    return gone


def _record(started: float, ended: float, batch: Batch, state: State) -> Step:
    return Step(
        started=started,
        ended=ended,
        prefill_tokens=sum(chunk for _, chunk in batch.prefill),
        prefilling=len(batch.prefill),
        decoding=len(batch.decode),
        waiting=len(state.waiting),
        held_blocks=state.limits.blocks - state.free,
        preemptions=state.preemptions,
    )
