"""Continuous batching without a clock: what runs in the next step, and what it yields.

First come, first served; chunked prefill inside a token budget; one decode token per running
sequence and step. When a block is wanted and none is left, the youngest sequence is preempted:
its blocks are freed and it is computed anew later. The caller keeps time with the law.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from seatrial.mock.kv import KvCache, block_hashes
from seatrial.mock.law import StepLaw


@dataclass(slots=True, eq=False)
class Sequence:
    """One request inside the engine.

    ``computed`` counts tokens in the KV cache; ``emitted`` the output tokens so far.
    """

    prompt: list[int]
    output_tokens: int
    computed: int = 0
    emitted: int = 0
    cached: int = 0
    preemptions: int = 0
    hashes: list[int] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)
    anonymous: int = 0
    first_schedule: bool = True

    @property
    def to_compute(self) -> int:
        """Tokens that must be in the cache before the next output token exists."""
        return len(self.prompt) + self.emitted


@dataclass(slots=True)
class Step:
    """One step: who prefills how much, who decodes, how long it takes, who yields a token."""

    duration_ns: int
    prefill_tokens: int
    yields: list[Sequence]
    finished: list[Sequence]


class Scheduler:
    """The engine's queues. ``step`` advances everything by one step."""

    def __init__(self, law: StepLaw) -> None:
        self.law = law
        self.kv = KvCache(law.kv_blocks, prefix_cache=law.prefix_cache)
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.preemptions = 0
        self.prefix_queries = 0
        self.prefix_hits = 0

    def submit(self, sequence: Sequence) -> None:
        """Put a sequence at the end of the waiting line."""
        sequence.hashes = block_hashes(sequence.prompt, self.law.block_tokens)
        self.waiting.append(sequence)

    def cancel(self, sequence: Sequence) -> None:
        """Drop a sequence wherever it is; its blocks are free at once."""
        if sequence in self.running:
            self.running.remove(sequence)
            self._release(sequence)
        elif sequence in self.waiting:
            self.waiting.remove(sequence)

    def step(self) -> Step | None:
        """Plan and account one step; None when there is nothing to run."""
        work = self._decodes()
        budget = self.law.batch_tokens - len(work)
        decoding = len(work)
        prefill = 0
        for sequence in self.running:
            if sequence.computed >= sequence.to_compute - 1 and sequence.emitted:
                continue
            share = self._prefill(sequence, budget - prefill)
            prefill += share
            if share:
                work.append(sequence)
        while self.waiting and len(self.running) < self.law.max_sequences and prefill < budget:
            sequence = self.waiting[0]
            if not self._admit(sequence):
                break
            share = self._prefill(sequence, budget - prefill)
            if not share:
                self._release(sequence)
                break
            self.waiting.popleft()
            self.running.append(sequence)
            prefill += share
            work.append(sequence)
        if not work:
            return None
        return self._finish(work, decoding, prefill)

    def _finish(self, work: list[Sequence], decoding: int, prefill: int) -> Step:
        context = sum(sequence.computed for sequence in self.running)
        duration = self.law.step_ns(
            prefill_tokens=prefill, decoding=decoding, context_tokens=context
        )
        yields = [s for s in work if s in self.running and s.computed >= s.to_compute]
        finished = []
        for sequence in yields:
            sequence.emitted += 1
            if sequence.emitted >= sequence.output_tokens:
                finished.append(sequence)
        for sequence in finished:
            self.running.remove(sequence)
            self._release(sequence)
        return Step(duration, prefill, yields, finished)

    def _decodes(self) -> list[Sequence]:
        """One token each for those whose prompt is in the cache; preempts where room lacks."""
        work = []
        for sequence in list(self.running):
            if sequence not in self.running:
                continue
            if not sequence.emitted or sequence.computed < sequence.to_compute - 1:
                continue
            if self._grow(sequence, 1):
                sequence.computed += 1
                work.append(sequence)
        return [s for s in work if s in self.running]

    def _prefill(self, sequence: Sequence, budget: int) -> int:
        share = min(sequence.to_compute - sequence.computed, budget)
        if share <= 0 or not self._grow(sequence, share):
            return 0
        sequence.computed += share
        self._publish(sequence)
        return share

    def _admit(self, sequence: Sequence) -> bool:
        block = self.law.block_tokens
        # The last prompt token is always computed: its logits give the first output token.
        usable = max(0, (len(sequence.prompt) - 1) // block)
        hits = min(self.kv.match(sequence.hashes), usable)
        if sequence.first_schedule:
            self.prefix_queries += len(sequence.prompt)
            self.prefix_hits += hits * block
            sequence.cached = hits * block
            sequence.first_schedule = False
        sequence.shared = sequence.hashes[:hits]
        self.kv.acquire(sequence.shared)
        sequence.computed = hits * block
        sequence.anonymous = 0
        return True

    def _grow(self, sequence: Sequence, tokens: int) -> bool:
        """Blocks for ``tokens`` more; takes them from the youngest other sequence if needed."""
        block = self.law.block_tokens
        have = len(sequence.shared) + sequence.anonymous
        want = -(-(sequence.computed + tokens) // block) - have
        while want > 0 and not self.kv.allocate(want):
            victim = self.running[-1] if self.running else None
            if victim is None or sequence not in self.running:
                return False
            self._preempt(victim)
            if victim is sequence:
                return False
        sequence.anonymous += max(0, want)
        return True

    def _publish(self, sequence: Sequence) -> None:
        full = min(sequence.computed, len(sequence.prompt)) // self.law.block_tokens
        while len(sequence.shared) < full:
            value = sequence.hashes[len(sequence.shared)]
            if not self.kv.publish(value):
                break
            sequence.shared.append(value)
            sequence.anonymous -= 1

    def _preempt(self, sequence: Sequence) -> None:
        self.running.remove(sequence)
        self._release(sequence)
        sequence.computed = 0
        sequence.preemptions += 1
        self.preemptions += 1
        self.waiting.appendleft(sequence)

    def _release(self, sequence: Sequence) -> None:
        self.kv.release(sequence.shared, sequence.anonymous)
        sequence.shared = []
        sequence.anonymous = 0
