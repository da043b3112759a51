"""The law on a real clock: tokens come out when the law says, and the truth is written down.

Two engines with one face: ``BatchEngine`` runs the scheduler step by step, ``FixedEngine`` gives
every stream the same times. Both call ``emit(job, count)`` for tokens that are due.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from seatrial.core.timer import Timer
from seatrial.mock.law import FixedLaw, StepLaw
from seatrial.mock.scheduler import Scheduler, Sequence


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way through the engine; ``emit`` is called with a number of tokens."""

    sequence: Sequence
    emit: Callable[[int], None]
    arrival_ns: int = 0
    done: bool = False
    tokens: int = field(default=0)


class BatchEngine:
    """Steps of the scheduler, each as long as the law says, on the loop's clock."""

    def __init__(self, law: StepLaw, loop: asyncio.AbstractEventLoop) -> None:
        self.law = law
        self.scheduler = Scheduler(law)
        self._timer = Timer(loop, self._step_over)
        self._jobs: dict[int, Job] = {}
        self._step_end_ns = 0
        self._busy = False
        self._pending: tuple[list[Sequence], list[Sequence]] = ([], [])
        self.steps = 0

    @property
    def running(self) -> int:
        """Sequences that are being served."""
        return len(self.scheduler.running)

    @property
    def waiting(self) -> int:
        """Sequences in the queue."""
        return len(self.scheduler.waiting)

    def submit(self, job: Job) -> None:
        """Take a request now."""
        job.arrival_ns = time.perf_counter_ns()
        self._jobs[id(job.sequence)] = job
        self.scheduler.submit(job.sequence)
        if not self._busy:
            self._step_end_ns = job.arrival_ns
            self._start_step()

    def cancel(self, job: Job) -> None:
        """The client went away: the sequence leaves the batch at once."""
        job.done = True
        self._jobs.pop(id(job.sequence), None)
        self.scheduler.cancel(job.sequence)

    def _start_step(self) -> None:
        step = self.scheduler.step()
        if step is None:
            self._busy = False
            return
        self._busy = True
        self.steps += 1
        self._pending = (step.yields, step.finished)
        self._step_end_ns += step.duration_ns
        self._timer.set(self._step_end_ns)

    def _step_over(self) -> None:
        yields, finished = self._pending
        self._pending = ([], [])
        for sequence in yields:
            job = self._jobs.get(id(sequence))
            if job is not None:
                job.tokens += 1
                job.emit(1)
        for sequence in finished:
            self._jobs.pop(id(sequence), None)
        self._start_step()

    def close(self) -> None:
        """Stop the clock."""
        self._timer.close()


class FixedEngine:
    """Streams that know nothing of each other."""

    def __init__(self, law: FixedLaw, loop: asyncio.AbstractEventLoop) -> None:
        self.law = law
        self._timer = Timer(loop, self._fire)
        self._due: list[tuple[int, int, Job]] = []
        self._serial = 0
        self.running = 0
        self.waiting = 0
        self.steps = 0
        self.scheduler = Scheduler(StepLaw())  # only its counters, all zero

    def submit(self, job: Job) -> None:
        """Take a request now."""
        job.arrival_ns = time.perf_counter_ns()
        self.running += 1
        self._push(job)

    def cancel(self, job: Job) -> None:
        """The client went away."""
        if not job.done:
            job.done = True
            self.running -= 1

    def _push(self, job: Job) -> None:
        self._serial += 1
        due = self.law.token_ns(job.arrival_ns, job.tokens)
        heapq.heappush(self._due, (due, self._serial, job))
        if self._due[0][1] == self._serial:
            self._timer.set(due)

    def _fire(self) -> None:
        now = time.perf_counter_ns()
        while self._due and self._due[0][0] <= now:
            job = heapq.heappop(self._due)[2]
            if job.done:
                continue
            job.tokens += 1
            job.sequence.emitted += 1
            job.emit(1)
            if job.tokens >= job.sequence.output_tokens:
                if not job.done:
                    job.done = True
                    self.running -= 1
            else:
                self._push(job)
        if self._due:
            self._timer.set(self._due[0][0])

    def close(self) -> None:
        """Stop the clock."""
        self._timer.close()
