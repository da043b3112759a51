"""Drive the fast loop over a load, or over a trace in pieces of constant memory.

With numba (extra ``fast``) the loop is compiled once per machine and cached; without it the same
functions run as plain Python: slower, equal. ``simulate`` chooses between this and the step loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
import numpy as np

from seatrial.fit.cost import StepCost
from seatrial.sim import kernel
from seatrial.sim.check import check
from seatrial.sim.load import Load
from seatrial.sim.policy import Limits, Policy
from seatrial.sim.result import SimResult
from seatrial.sim.steps import step_loop

_OUT = 1 << 16
_HELPERS = (
    "_blocks",
    "_first_blocks",
    "_preempt",
    "_make_room",
    "_admit",
    "_steps_within_pool",
    "_steps_until",
    "_compute_prompts",
    "_jump",
    "_tokens",
    "_leave",
)


@cache
def compiled() -> Callable[..., int] | None:
    """The loop compiled by numba, or None where numba is not installed."""
    try:
        import numba
    except ImportError:
        return None
    import importlib.util

    spec = importlib.util.find_spec("seatrial.sim.kernel")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)  # a copy: the plain one stays plain
    spec.loader.exec_module(module)
    for name in _HELPERS:
        setattr(module, name, numba.njit(nogil=True, cache=True)(getattr(module, name)))
    loop: Callable[..., int] = numba.njit(nogil=True, cache=True)(module.advance)
    return loop


def simulate(load: Load, policy: Policy, limits: Limits, cost: StepCost) -> SimResult:
    """Simulate a load, fast where the policy has a fast form.

    Raises:
        UsageError: a request that could never be served within the limits.
    """
    if policy.mode < 0:
        return step_loop(load, policy, limits, cost)
    return jump_loop(load, policy, limits, cost)


def jump_loop(
    load: Load, policy: Policy, limits: Limits, cost: StepCost, *, plain: bool = False
) -> SimResult:
    """The fast loop over a load in memory. ``plain``: without numba."""
    check(load, policy, limits)
    first, finish = np.full(load.n, np.nan), np.full(load.n, np.nan)
    times = np.zeros(load.n, dtype=np.int64)
    run = Run(policy, limits, cost, plain=plain)
    for number, first_token, finished, preempted in run.pieces([load]):
        first[number], finish[number], times[number] = first_token, finished, preempted
    return SimResult(
        policy=policy.name,
        load=load,
        first_token=first,
        finish=finish,
        preempted=times,
        steps=run.steps,
        makespan=run.now,
    )


class Run:
    """A simulation that is fed in pieces; holds the state between them."""

    def __init__(
        self, policy: Policy, limits: Limits, cost: StepCost, *, plain: bool = False
    ) -> None:
        self._loop = (None if plain else compiled()) or kernel.advance
        self._cost = np.array(msgspec.structs.astuple(cost), dtype=np.float64)
        self._limits = np.zeros(kernel.L_SIZE, dtype=np.int64)
        self._limits[kernel.MODE] = policy.mode
        self._limits[kernel.MAX_SEQS] = limits.max_seqs
        self._limits[kernel.BUDGET] = limits.token_budget
        self._limits[kernel.BLOCK] = limits.block_tokens
        self._limits[kernel.RESERVE] = limits.reserve_tokens
        self._clock = np.zeros(1)
        self._ints = np.zeros(kernel.I_SIZE, dtype=np.int64)
        self._ints[kernel.FREE] = limits.blocks
        self._running = np.zeros((limits.max_seqs, kernel.R_SIZE), dtype=np.int64)
        self._first = np.zeros(limits.max_seqs)
        self._chunks = np.zeros(limits.max_seqs, dtype=np.int64)
        ring = 4 * limits.max_seqs + 1024
        self._ring = np.zeros((ring, kernel.R_SIZE), dtype=np.int64)
        self._ring_first = np.zeros(ring)
        size = _OUT + limits.max_seqs
        self._out = (
            np.zeros(size, dtype=np.int64),
            np.zeros(size),
            np.zeros(size),
            np.zeros(size, dtype=np.int64),
        )

    @property
    def now(self) -> float:
        """The simulated clock, in seconds."""
        return float(self._clock[0])

    @property
    def steps(self) -> int:
        """Steps of the engine so far."""
        return int(self._ints[kernel.STEPS])

    def pieces(self, loads: Iterable[Load]) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Feed pieces of a trace in order; yields arrays (number, first, finish, preempted).

        Memory is that of one piece, the longest queue and the output buffer.
        """
        base = 0
        waiting: Load | None = None
        for load in loads:
            if waiting is not None:
                yield from self._piece(waiting, base, last=False)
                base += waiting.n
            waiting = load
        if waiting is not None:
            yield from self._piece(waiting, base, last=True)
        yield self._flush()

    def _piece(self, load: Load, base: int, *, last: bool) -> Iterator[tuple[Any, ...]]:
        self._ints[kernel.NEXT] = 0
        while True:
            code = self._loop(
                self._cost,
                self._limits,
                self._clock,
                self._ints,
                self._running,
                self._first,
                self._ring,
                self._ring_first,
                self._chunks,
                load.arrival,
                load.input,
                load.output,
                load.cached,
                base,
                last,
                *self._out,
            )
            if code == kernel.OUTPUT_FULL:
                yield self._flush()
            elif code == kernel.RING_FULL:
                self._widen()
            else:
                return

    def _flush(self) -> tuple[Any, ...]:
        done = int(self._ints[kernel.FINISHED])
        self._ints[kernel.FINISHED] = 0
        return tuple(column[:done].copy() for column in self._out)

    def _widen(self) -> None:
        """Twice the ring; the queue starts at its beginning again."""
        head, size = int(self._ints[kernel.HEAD]), self._ring.shape[0]
        order = (head + np.arange(size)) % size
        ring = np.zeros((2 * size, kernel.R_SIZE), dtype=np.int64)
        ring_first = np.zeros(2 * size)
        ring[:size], ring_first[:size] = self._ring[order], self._ring_first[order]
        self._ring, self._ring_first = ring, ring_first
        self._ints[kernel.HEAD] = 0
