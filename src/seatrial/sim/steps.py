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
  8 blocks on the host: free + held by who waits = all; who runs holds none there
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from seatrial.fit.cost import StepCost
from seatrial.sim.check import check
from seatrial.sim.load import Load
from seatrial.sim.policy import STATIC, Limits, Policy
from seatrial.sim.result import SimResult, Step
from seatrial.sim.state import Batch, Sequence, State

Watch = Callable[[Step, State], None]


@dataclass(slots=True)
class Request:
    """A request on its way to an engine: its sequence, when it comes, and what only the loop
    knows, the length of its answer."""

    sequence: Sequence
    at: float
    output: int
    first: float = float("nan")
    finish: float = float("nan")


@dataclass(slots=True)
class Engine:
    """One engine that can be given requests and let run up to a moment."""

    policy: Policy
    limits: Limits
    cost: StepCost
    watch: Watch | None = None
    state: State = field(init=False)
    inbox: deque[Request] = field(default_factory=deque)
    known: dict[int, Request] = field(default_factory=dict)
    done: list[Request] = field(default_factory=list)
    now: float = 0.0
    steps: int = 0

    def __post_init__(self) -> None:
        self.state = State(self.limits, swap=getattr(self.policy, "swap", False))

    @property
    def load(self) -> int:
        """Requests given to this engine that are not finished."""
        return len(self.known)

    def push(self, request: Request) -> None:
        """Give a request; moments must not go backwards."""
        self.inbox.append(request)
        self.known[request.sequence.number] = request

    def run(self, until: float = float("inf")) -> None:
        """Run every step that starts before ``until``."""
        while True:
            while self.inbox and self.inbox[0].at <= self.now:
                self.state.waiting.append(self.inbox.popleft().sequence)
            if self.now >= until:
                return
            batch = self.policy.compose(self.state)
            if batch:
                self._step(batch)
            elif not self.inbox:
                if self.known:
                    raise AssertionError(f"{self.policy.name} stands still with work left")
                return
            elif self.inbox[0].at >= until:
                return
            else:
                self.now = self.inbox[0].at

    def _step(self, batch: Batch) -> None:
        started = self.now
        self.now += _seconds(batch, self.cost) + self.state.moved * self.limits.swap_block_s
        self.state.moved = 0
        self.steps += 1
        self._hand_out(batch)
        self._let_go()
        if self.watch is not None:
            self.watch(_record(started, self.now, batch, self.state), self.state)

    def _hand_out(self, batch: Batch) -> None:
        for sequence, chunk in batch.prefill:
            sequence.kv += chunk
            sequence.to_compute -= chunk
            if sequence.to_compute == 0:
                sequence.generated += 1
                request = self.known[sequence.number]
                if np.isnan(request.first):
                    request.first = self.now
        for sequence in batch.decode:
            sequence.kv += 1
            sequence.generated += 1

    def _let_go(self) -> None:
        """Finished sequences leave; a static batch leaves its places only together."""
        for sequence in self.state.running:
            if not sequence.finished and (sequence.generated == self.known[sequence.number].output):
                sequence.finished = True
                request = self.known.pop(sequence.number)
                request.finish = self.now
                self.done.append(request)
        together = self.policy.mode == STATIC
        if not together or all(sequence.finished for sequence in self.state.running):
            for sequence in [s for s in self.state.running if s.finished]:
                self.state.finish(sequence)


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
    timeline: list[Step] = []

    def look(step: Step, state: State) -> None:
        if keep_steps:
            timeline.append(step)
        if watch is not None:
            watch(step, state)

    engine = Engine(policy, limits, cost, look if keep_steps or watch else None)
    for number in range(load.n):
        engine.push(request_of(load, number))
    engine.run()
    return gathered(load, [engine], policy.name, tuple(timeline))


def request_of(load: Load, number: int) -> Request:
    """The number-th request of a load."""
    cached, length = int(load.cached[number]), int(load.input[number])
    at = float(load.arrival[number])
    sequence = Sequence(
        number=number,
        arrival=at,
        input=length,
        cached=cached,
        to_compute=length - cached,
        kv=cached,
    )
    return Request(sequence, at, int(load.output[number]))


def gathered(
    load: Load, engines: list[Engine], name: str, timeline: tuple[Step, ...] = ()
) -> SimResult:
    """What the engines finished, in the order of the load."""
    first, finish = np.full(load.n, np.nan), np.full(load.n, np.nan)
    preempted = np.zeros(load.n, dtype=np.int64)
    for engine in engines:
        for request in engine.done:
            number = request.sequence.number
            first[number], finish[number] = request.first, request.finish
            preempted[number] += request.sequence.preempted
    return SimResult(
        policy=name,
        load=load,
        first_token=first,
        finish=finish,
        preempted=preempted,
        steps=sum(engine.steps for engine in engines),
        makespan=max((engine.now for engine in engines), default=0.0),
        timeline=timeline,
    )


def _seconds(batch: Batch, cost: StepCost) -> float:
    return cost.seconds(
        prefill=sum(chunk for _, chunk in batch.prefill),
        decode=len(batch.decode) + batch.padding,
        context=sum(sequence.kv + 1 for sequence in batch.decode),
        attention=sum(chunk * (sequence.kv + chunk / 2) for sequence, chunk in batch.prefill),
    )


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
