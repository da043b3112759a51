"""Prompts on one pool of replicas, answers on another (DistServe, OSDI 2024; Splitwise, ISCA 2024).

A request is computed on the prefill pool until its first token, its cache travels, and it goes on
where it arrives. The transfer takes ``transfer_s`` plus ``transfer_s_per_token`` for every cached
token; it occupies neither pool. Between the pools nothing flows back, so the prefill pool is
simulated whole, then the decode pool.
"""

from __future__ import annotations

from operator import attrgetter

import msgspec
import numpy as np

from seatrial.fit.cost import StepCost
from seatrial.sim.check import check
from seatrial.sim.cluster import LeastLoaded
from seatrial.sim.load import Load
from seatrial.sim.policy import Limits, Policy
from seatrial.sim.result import SimResult
from seatrial.sim.state import Sequence
from seatrial.sim.steps import Engine, Request, gathered, request_of


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas of each pool and what moving a cache costs, in seconds."""

    prefill: int
    decode: int
    transfer_s: float = 0.0
    transfer_s_per_token: float = 0.0


def simulate_split(
    load: Load, policy: Policy, limits: Limits, cost: StepCost, split: Split
) -> SimResult:
    """Simulate the two pools; the first token is that of the prefill pool.

    Raises:
        UsageError: a request that could never be served within the limits.
    """
    check(load, policy, limits)
    first_pool = _pool(
        [_only_prompt(load, i) for i in range(load.n)], policy, limits, cost, split.prefill
    )
    prompts = [request for engine in first_pool for request in engine.done]
    moved = sorted(
        (
            _arrived(load, request, split)
            for request in prompts
            if load.output[request.sequence.number] > 1
        ),
        key=attrgetter("at"),
    )
    second_pool = _pool(moved, policy, limits, cost, split.decode)
    result = gathered(load, second_pool, f"{policy.name}, {split.prefill} + {split.decode}")
    for request in prompts:
        number = request.sequence.number
        result.first_token[number] = request.first
        if np.isnan(result.finish[number]):
            result.finish[number] = request.finish
    return SimResult(
        policy=result.policy,
        load=load,
        first_token=result.first_token,
        finish=result.finish,
        preempted=result.preempted,
        steps=result.steps + sum(engine.steps for engine in first_pool),
        makespan=float(np.max(result.finish, initial=0.0)),
    )


def _pool(
    requests: list[Request], policy: Policy, limits: Limits, cost: StepCost, replicas: int
) -> list[Engine]:
    engines = [Engine(policy, limits, cost) for _ in range(replicas)]
    router = LeastLoaded()
    for request in requests:
        for engine in engines:
            engine.run(until=request.at)
        engines[router.choose(request.sequence.number, engines)].push(request)
    for engine in engines:
        engine.run()
    return engines


def _only_prompt(load: Load, number: int) -> Request:
    request = request_of(load, number)
    request.output = 1
    return request


def _arrived(load: Load, request: Request, split: Split) -> Request:
    """The request on the decode pool: its cache is there, its first token still to be fed in."""
    number, length = request.sequence.number, request.sequence.input
    at = request.finish + split.transfer_s + split.transfer_s_per_token * length
    sequence = Sequence(
        number=number,
        arrival=at,
        input=length,
        cached=length,
        to_compute=1,
        kv=length,
        generated=1,
    )
    return Request(sequence, at, int(load.output[number]), first=request.first)
