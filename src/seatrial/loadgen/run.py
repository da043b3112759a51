"""One run: lay the plan down, let the crew drive it, read what came back.

run = execute(planned, target, load, seed=1)
run.records, run.client
"""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.core.progress import Progress, Silent
from seatrial.core.seeds import derive_seed
from seatrial.loadgen import limits
from seatrial.loadgen.aligned import compiled_for
from seatrial.loadgen.crew import Crew, WorkerReport
from seatrial.loadgen.exchange import RawExchange
from seatrial.loadgen.outcome import STATUSES, TIMED_OUT, Packed
from seatrial.loadgen.plan import Job, Load, Target, write_columns
from seatrial.loadgen.reading import judge
from seatrial.loadgen.records import Builder, Ints, Records, estimate_inputs, settle_tokens
from seatrial.loadgen.spool import Follower
from seatrial.store import scratch

EVENTS_PER_WORKER = 20_000.0
_TIMER_NS = 2_000_000  # the loop's timers count whole milliseconds, and may fire one early
READ_ALONG = 50_000
"""Above so many requests the parent reads the answers during the run, so that its end is the
result's; else the workers do after it."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What will be sent. All arrays have length ``n``; -1 is none.

    Attributes:
        bodies: the request bodies in order; read once, so it may be a generator.
        scheduled_ns: from the start; of follow-up turns: not before.
        cancel_tokens, cancel_ns: close after so many tokens, or so long after the schedule.
        deadline_ns: given up so long after the schedule: timed out, not cancelled.
        input_tokens, output_tokens: as planned, to be checked against usage.
    """

    n: int
    bodies: Iterable[bytes]
    scheduled_ns: Ints
    input_tokens: Ints
    output_tokens: Ints
    session: Ints
    turn: Ints
    cancel_tokens: Ints
    cancel_ns: Ints
    deadline_ns: Ints


def planned(bodies: Iterable[bytes], n: int, **columns: Ints) -> Planned:
    """A plan from bodies and whichever columns there are; the others are -1 (schedule: 0)."""
    names = ("input_tokens", "output_tokens", "session", "turn", "cancel_tokens", "cancel_ns",
             "deadline_ns")  # fmt: skip
    filled = {name: columns.get(name, np.full(n, -1, np.int64)) for name in names}
    scheduled = columns.get("scheduled_ns", np.zeros(n, np.int64))
    return Planned(n=n, bodies=bodies, scheduled_ns=scheduled, **filled)


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """What the client says of itself over one run. Lags, delays and lateness are ns.

    ``kernel_stamps``: arrival times are the kernel's, so the loop's lag is not in any latency.
    """

    workers: int
    cpu_s: float
    wall_s: float
    cpu_share: float
    run_queue_wait_s: float | None
    kernel_stamps: bool
    receive_delays_ns: list[int]
    lags_ns: list[int]
    lateness_ns: list[int] | Ints
    connect_ns: list[int]
    opened: int
    stray: int
    rss_peak_bytes: int


@dataclass(slots=True)
class Run:
    """The records of a run and the client's account of itself."""

    records: Records
    client: Client
    reports: list[WorkerReport] = field(default_factory=list)


def workers_for(events_per_s: float) -> int:
    """How many processes a rate of events needs, at most the usable cores less one."""
    cores = len(os.sched_getaffinity(0))
    return max(1, min(max(1, cores - 1), math.ceil(events_per_s / EVENTS_PER_WORKER)))


def execute(
    plan: Planned,
    target: Target,
    load: Load,
    *,
    seed: int,
    workers: int = 1,
    keep_text: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Send the plan and read the answers.

    Raises:
        EngineError: nothing listens at the target.
        PrerequisiteError: a worker process died, or the system allows too few connections.
    """
    progress = progress or Silent()
    limits.check(load, plan.n, fresh_per_s=_rate(plan))
    along = plan.n > READ_ALONG
    with scratch("run") as folder:
        _lay_down(plan, folder)
        run_id = f"{derive_seed(seed, 'run'):016x}"
        share = msgspec.structs.replace(load, connections=math.ceil(load.connections / workers))
        jobs = [
            Job(
                folder=str(folder),
                worker=number,
                workers=workers,
                seed=seed,
                requests=plan.n,
                run_id=run_id,
                target=target,
                load=share,
                judge=not along,
                keep_text=keep_text,
            )
            for number in range(workers)
        ]
        with Crew(jobs) as crew:
            crew.ready()
            cpu_before = _cpu_s()
            reader = _Reader(jobs, plan) if along else None
            start_ns, reports = crew.run(
                lambda state: progress.amount("bench", state["finished"], plan.n, "requests"),
                reader.some if reader else None,
            )
        builder = reader.all() if reader else _judged(jobs)
        records = _records(builder.build(start_ns), plan)
        own_cpu_s = _cpu_s() - cpu_before
    progress.amount("bench", records.n, records.n, "requests")
    return Run(records=records, client=_client(reports, records, own_cpu_s), reports=reports)


def _rate(plan: Planned) -> float:
    """Mean rate of the plan's schedule, requests per second; 0 where it has none."""
    span_s = float(plan.scheduled_ns.max()) / 1e9 if plan.n else 0.0
    return plan.n / span_s if span_s > 0 else 0.0


def _events(plan: Planned) -> int:
    """About how many events the answers will have, where the plan says."""
    return int(np.maximum(plan.output_tokens, 0).sum())


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _lay_down(plan: Planned, folder: Path) -> None:
    """Write bodies and columns to the run's folder."""
    offset = np.zeros(plan.n + 1, np.int64)
    with (folder / "bodies.bin").open("wb") as file:
        for i, body in enumerate(plan.bodies):
            offset[i + 1] = offset[i] + len(body)
            file.write(body)
    columns = {
        "scheduled_ns": plan.scheduled_ns,
        "offset": offset,
        "session": plan.session,
        "turn": plan.turn,
        "cancel_tokens": plan.cancel_tokens,
        "cancel_ns": _closes_ns(plan),
    }
    write_columns(folder, columns)


def _closes_ns(plan: Planned) -> Ints:
    """When the client closes at the latest: by plan or at the deadline, whichever is first."""
    never = np.int64(np.iinfo(np.int64).max)
    first = np.minimum(
        np.where(plan.cancel_ns >= 0, plan.cancel_ns, never),
        np.where(plan.deadline_ns >= 0, plan.deadline_ns, never),
    )
    return np.where(first < never, first, -1).astype(np.int64)


def _give_up(records: Records, plan: Planned) -> None:
    """What was closed at its deadline, and not by plan, timed out."""
    index = records.ints["index"]
    deadline, cancel = plan.deadline_ns[index], plan.cancel_ns[index]
    open_ns = records.ints["done_ns"] - records.ints["scheduled_ns"]
    late = records.is_status("cancelled") & (deadline >= 0) & (open_ns >= deadline - _TIMER_NS)
    late &= (cancel < 0) | (deadline < cancel)
    records.status[late] = STATUSES.index(TIMED_OUT)
    for i in np.flatnonzero(late).tolist():
        records.error_kind[i] = "deadline"
        records.error[i] = f"not finished {deadline[i] / 1e9:g} s after its scheduled time"


def _judged(jobs: list[Job]) -> Builder:
    """The outcomes that the workers left."""
    builder = Builder()
    for job in jobs:
        for packed in Follower(job.file("outcomes"), Packed).rest():
            builder.add(packed.outcome, packed.events)
    return builder


class _Reader:
    """Turns the workers' spools into records, along with a long run."""

    def __init__(self, jobs: list[Job], plan: Planned) -> None:
        self._job = jobs[0]
        self._followers = [Follower(job.file("spool"), RawExchange) for job in jobs]
        self._scan = compiled_for(_events(plan))
        self._builder = Builder()

    def some(self) -> bool:
        """What has come since the last call, but for half a second at most; is there more?"""
        stop = time.monotonic() + 0.5
        for follower in self._followers:
            while found := follower.take(200):
                for raw in found:
                    self._add(raw)
                if time.monotonic() > stop:
                    return True
        return False

    def all(self) -> Builder:
        """The rest; everything is in the builder then."""
        for follower in self._followers:
            for raw in follower.rest():
                self._add(raw)
        return self._builder

    def _add(self, raw: RawExchange) -> None:
        keep = self._job.keep_text
        self._builder.add(judge(raw, self._job.target.route, keep_text=keep, scan=self._scan))


def _records(records: Records, plan: Planned) -> Records:
    """The records with what was planned beside them, and tokens settled."""
    records.plan = {
        "session": plan.session,
        "turn": plan.turn,
        "planned_input_tokens": plan.input_tokens,
        "planned_output_tokens": plan.output_tokens,
    }
    _give_up(records, plan)
    estimate_inputs(records)
    settle_tokens(records, plan.output_tokens[records.ints["index"]])
    return records


def lateness(records: Records) -> NDArray[np.int64]:
    """sent - scheduled of what was sent, in ns."""
    sent = records.ints["sent_ns"]
    late: NDArray[np.int64] = (sent - records.ints["scheduled_ns"])[sent >= 0]
    return late


def _client(reports: list[WorkerReport], records: Records, own_cpu_s: float) -> Client:
    wall = max((r.wall_s for r in reports), default=0.0)
    waits = [r.run_queue_wait_s for r in reports if r.run_queue_wait_s is not None]
    return Client(
        workers=len(reports),
        cpu_s=sum(r.cpu_s + r.judge_cpu_s for r in reports) + own_cpu_s,
        wall_s=wall,
        cpu_share=max((r.cpu_s / r.wall_s for r in reports if r.wall_s > 0), default=0.0),
        run_queue_wait_s=sum(waits) if waits else None,
        kernel_stamps=all(r.kernel_stamps for r in reports),
        receive_delays_ns=[delay for r in reports for delay in r.receive_delays_ns],
        lags_ns=[lag for r in reports for lag in r.lags_ns],
        lateness_ns=lateness(records),
        connect_ns=[value for r in reports for value in r.connect_ns],
        opened=sum(r.opened for r in reports),
        stray=sum(r.stray for r in reports),
        rss_peak_bytes=max((r.rss_peak_bytes for r in reports), default=0),
    )
