"""What the engine's time went into, and what requests waited for, in one simulation.

Counted at every step of the plain loop. Shares of the engine's busy time by the law's own terms
(step, prompts, decoding, cache), and shares of the time in which requests waited by what the first
of them lacked: a place, KV blocks, or room in the token budget. These are the reasons behind the
effects that ``whatif`` finds; they are predicted as those are.
"""

from __future__ import annotations

import msgspec

from seatrial.fit.cost import StepCost
from seatrial.sim.load import Load
from seatrial.sim.policy import Limits, Policy
from seatrial.sim.result import SimResult, Step
from seatrial.sim.state import State
from seatrial.sim.steps import step_loop

STEP_BY_STEP = 2000
"""Requests that are looked at step by step; of a longer trace the first so many."""


class Bottleneck(msgspec.Struct, frozen=True, kw_only=True):
    """Shares between 0 and 1.

    Attributes:
        busy: of the whole span, steps were running.
        time: of the busy time: ``step``, ``prefill``, ``decode``, ``context``; sums to 1.
        waited: of the whole span, somebody waited.
        lacked: of the time somebody waited: ``place``, ``blocks``, ``budget``; sums to 1 where
            anybody waited.
        places: mean running sequences in a step; ``most_places`` the limit.
        blocks: largest share of the KV pool that was held.
        preemptions: in all.
        requests: how many were looked at.
    """

    busy: float
    time: dict[str, float]
    waited: float
    lacked: dict[str, float]
    places: float
    most_places: int
    blocks: float
    preemptions: int
    requests: int


def bottleneck(
    load: Load, policy: Policy, limits: Limits, cost: StepCost
) -> tuple[Bottleneck, SimResult]:
    """Simulate the first ``STEP_BY_STEP`` requests step by step; the result keeps its timeline.

    Raises:
        UsageError: a request that could never be served within the limits.
    """
    part = load.part(slice(0, STEP_BY_STEP))
    time = dict.fromkeys(("step", "prefill", "decode", "context"), 0.0)
    lacked = dict.fromkeys(("place", "blocks", "budget"), 0.0)
    seen = {"busy": 0.0, "places": 0.0, "blocks": 0.0, "steps": 0.0}

    def watch(step: Step, state: State) -> None:
        seconds = step.ended - step.started
        prompts, decoding = cost.prefill * step.prefill_tokens, cost.decode * step.decoding
        time["step"] += cost.step
        time["prefill"] += prompts
        time["decode"] += decoding
        time["context"] += max(seconds - cost.step - prompts - decoding, 0.0)
        seen["busy"] += seconds
        seen["places"] += len(state.running)
        seen["steps"] += 1
        seen["blocks"] = max(seen["blocks"], step.held_blocks / limits.blocks)
        if state.waiting:
            lacked[_lacks(state)] += seconds

    result = step_loop(part, policy, limits, cost, watch=watch, keep_steps=True)
    span = max(result.makespan - float(part.arrival[0]), 1e-9) if part.n else 1e-9
    waited = sum(lacked.values())
    return (
        Bottleneck(
            busy=min(seen["busy"] / span, 1.0),
            time={name: value / max(seen["busy"], 1e-9) for name, value in time.items()},
            waited=min(waited / span, 1.0),
            lacked={name: value / waited for name, value in lacked.items()} if waited else lacked,
            places=seen["places"] / max(seen["steps"], 1),
            most_places=limits.max_seqs,
            blocks=seen["blocks"],
            preemptions=int(result.preempted.sum()),
            requests=part.n,
        ),
        result,
    )


def reasons(found: Bottleneck) -> dict[str, str]:
    """Variable of ``whatif`` -> the reason, in a sentence, why it matters here or does not."""
    time, lacked = found.time, found.lacked
    waits = f"requests wait {found.waited:.0%} of the time"
    full = f"{found.places:.1f} of {found.most_places} places are taken on average"
    return {
        "scheduling": f"{time['prefill']:.0%} of the engine's time goes into prompts, and the "
        f"answers beside them stand still unless prompts are cut or joined; {full}",
        "memory": f"at most {found.blocks:.0%} of the KV pool is held, "
        f"{found.preemptions} preemptions; {waits}, {lacked['blocks']:.0%} of that for KV blocks",
        "token budget": f"{waits}, {lacked['budget']:.0%} of that for room in a step; prompts take "
        f"{time['prefill']:.0%} of the engine's time",
        "places": f"{full}; {waits}, {lacked['place']:.0%} of that for a place",
        "block size": f"at most {found.blocks:.0%} of the KV pool is held: what rounding up to "
        "whole blocks wastes matters only when it is full",
        "prefix cache": f"{time['prefill']:.0%} of the engine's time goes into prompts: that is "
        "the most which a cache can take away",
        "traffic": f"the engine is busy {found.busy:.0%} of the time; {waits}",
    }


def _lacks(state: State) -> str:
    head = state.waiting[0]
    if len(state.running) >= state.limits.max_seqs:
        return "place"
    return "budget" if state.fits(head) else "blocks"
