"""What a scheduler sees and moves: sequences, the queue, the pool of KV blocks.

The conservation laws live here: a block belongs to one sequence or is free, a sequence is waiting,
running or gone. ``State`` refuses a move that would break them, so a policy cannot.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seatrial.sim.policy import Limits


@dataclass(slots=True)
class Sequence:
    """One request as a scheduler may see it. Token counts; ``number`` is its place in the trace.

    ``to_compute``: prompt tokens (after a preemption: prompt and answer so far) still to compute;
    ``kv``: tokens in the cache; ``generated``: tokens of the answer so far; ``on_host``: blocks
    that lie in the host's memory while it waits (swapped out).
    """

    number: int
    arrival: float
    input: int
    cached: int
    to_compute: int
    kv: int
    generated: int = 0
    blocks: int = 0
    preempted: int = 0
    finished: bool = False
    on_host: int = 0

    @property
    def decoding(self) -> bool:
        """Whether its prompt is computed."""
        return self.to_compute == 0


@dataclass(slots=True)
class Batch:
    """What one step computes: prompts with their chunk of tokens, sequences that decode one
    token, and sequences that only pad the batch (request-level batching)."""

    prefill: list[tuple[Sequence, int]] = field(default_factory=list)
    decode: list[Sequence] = field(default_factory=list)
    padding: int = 0

    def __bool__(self) -> bool:
        return bool(self.prefill or self.decode)


@dataclass(slots=True)
class State:
    """Queue (first is next), running sequences in order of admission, free blocks.

    ``swap``: preempted answers keep their cache in the host's memory, where there is room; else
    it is computed again. ``moved``: blocks moved since the last step.
    """

    limits: Limits
    waiting: deque[Sequence] = field(default_factory=deque)
    running: list[Sequence] = field(default_factory=list)
    free: int = 0
    preemptions: int = 0
    swap: bool = False
    host_free: int = 0
    moved: int = 0

    def __post_init__(self) -> None:
        self.free = self.limits.blocks
        self.host_free = self.limits.host_blocks

    def blocks_for(self, tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-tokens // self.limits.block_tokens)

    def fits(self, sequence: Sequence) -> bool:
        """Whether a waiting sequence could be admitted now: a free place, and cache for its whole
        prompt and the token after it (or its whole reservation)."""
        return len(self.running) < self.limits.max_seqs and self._first(sequence) <= self.free

    def _first(self, sequence: Sequence) -> int:
        if self.limits.reserve_tokens:
            return self.blocks_for(self.limits.reserve_tokens)
        return self.blocks_for(sequence.kv + max(sequence.to_compute, 1))

    def admit(self) -> Sequence:
        """Take the head of the queue in; it must fit."""
        sequence = self.waiting[0]
        if not self.fits(sequence):
            raise AssertionError("admitted without room")
        self.waiting.popleft()
        sequence.blocks = self._first(sequence)
        self.free -= sequence.blocks
        self.moved += sequence.on_host
        self.host_free += sequence.on_host
        sequence.on_host = 0
        self.running.append(sequence)
        return sequence

    def grow(self, sequence: Sequence) -> bool:
        """Make room for one more token; preempt the youngest until there is.

        Returns False if ``sequence`` itself was preempted.
        """
        if self.limits.reserve_tokens or self.blocks_for(sequence.kv + 1) <= sequence.blocks:
            return True
        while self.free == 0:
            victim = self.running[-1]
            self.preempt(victim)
            if victim is sequence:
                return False
        sequence.blocks += 1
        self.free -= 1
        return True

    def decoding(self) -> list[Sequence]:
        """The running sequences that decode in this step, room made for each, oldest first.

        A preempted one is always younger than those already in the list.
        """
        chosen = []
        for sequence in list(self.running):
            still = sequence.blocks > 0  # a preempted one holds nothing
            if still and sequence.decoding and self.grow(sequence):
                chosen.append(sequence)
        return chosen

    def preempt(self, sequence: Sequence) -> None:
        """Put a running sequence back to the head of the queue; its cache is swapped or lost."""
        self.running.remove(sequence)
        if self.swap and sequence.decoding and sequence.blocks <= self.host_free:
            sequence.on_host = sequence.blocks
            self.host_free -= sequence.blocks
            self.moved += sequence.blocks
        else:
            sequence.to_compute = sequence.input + sequence.generated
            sequence.kv = 0
        self._release(sequence)
        sequence.preempted += 1
        self.preemptions += 1
        self.waiting.appendleft(sequence)

    def finish(self, sequence: Sequence) -> None:
        """Take a finished sequence out and free its blocks."""
        self.running.remove(sequence)
        self._release(sequence)

    def _release(self, sequence: Sequence) -> None:
        self.free += sequence.blocks
        sequence.blocks = 0
