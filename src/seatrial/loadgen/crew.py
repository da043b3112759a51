"""The parent's side: start the workers, give them one start time, gather what they bring back.

Workers are processes, started and connected before the clock starts. They share the machine's
monotonic clock, so merging is concatenation. The parent sleeps while they work.
"""

from __future__ import annotations

import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from typing import IO, Any

import msgspec

from seatrial.core.errors import EngineError, PrerequisiteError
from seatrial.core.units import NS_PER_MS
from seatrial.loadgen.plan import Job

_START_DELAY_NS = 50 * NS_PER_MS


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker says of itself. ``cpu_s`` is of the run, ``judge_cpu_s`` of what followed."""

    offered: int
    finished: int
    reads: int
    stray: int
    opened: int
    connect_ns: list[int]
    lags_ns: list[int]
    cpu_s: float
    judge_cpu_s: float
    wall_s: float
    run_queue_wait_s: float | None
    kernel_stamps: bool
    receive_delays_ns: list[int]
    rss_peak_bytes: int


class Worker:
    """A worker process and its two pipes."""

    def __init__(self, job: Job) -> None:
        self.job = job
        path = job.file("json")
        path.touch(mode=0o600)
        path.write_bytes(msgspec.json.encode(job))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "seatrial.loadgen.worker", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=job.file("err").open("wb"),
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        self.last: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """The next line it says.

        Raises:
            EngineError: it cannot reach the endpoint.
            PrerequisiteError: it died.
        """
        line = self.stdout.readline()
        if not line:
            err = self.job.file("err").read_text("utf-8")
            raise PrerequisiteError(
                "a load-generating process died",
                where=err.strip()[-300:],
                remedy="run the same command again; free memory if it was killed",
            )
        said: dict[str, Any] = msgspec.json.decode(line)
        error = (said.get("done") or {}).get("error")
        if error:
            raise EngineError(
                str(error),
                where=f"{self.job.target.host}:{self.job.target.port}",
                unchanged="nothing was sent",
                remedy="check that the server is up and the address is right",
            )
        return said

    def stop(self) -> None:
        """End the process if it still runs, and close the pipes."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.stdin.close()
        self.stdout.close()


class Crew:
    """All workers of one run. Use as a context manager: leaving it ends every process."""

    def __init__(self, jobs: list[Job]) -> None:
        self.workers = [Worker(job) for job in jobs]

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.stop()

    def ready(self) -> int:
        """Wait until all are connected; returns the number of open connections.

        Raises:
            EngineError: the endpoint cannot be reached.
        """
        return sum(int(worker.read().get("ready", 0)) for worker in self.workers)

    def run(
        self,
        tell: Callable[[dict[str, int]], None],
        meanwhile: Callable[[], bool] | None = None,
    ) -> tuple[int, list[WorkerReport]]:
        """Give the start time, wait for the end; returns the start (ns) and the reports.

        ``tell`` is called about twice a second with ``sent``, ``finished`` and ``in_flight``;
        ``meanwhile`` as often, for work that need not wait for the end; while it says that there
        is more of it, it is called again at once.
        """
        start_ns = time.perf_counter_ns() + _START_DELAY_NS
        for worker in self.workers:
            worker.stdin.write(b"go %d\n" % start_ns)
            worker.stdin.flush()
        reports: dict[int, WorkerReport] = {}
        with selectors.DefaultSelector() as selector:
            for worker in self.workers:
                selector.register(worker.stdout, selectors.EVENT_READ, worker)
            while len(reports) < len(self.workers):
                more = meanwhile is not None and meanwhile()
                for key, _ in selector.select(0 if more else None):
                    worker = key.data
                    said = worker.read()
                    if "done" in said:
                        number = worker.job.worker
                        reports[number] = msgspec.convert(said["done"], WorkerReport)
                        selector.unregister(worker.stdout)
                    else:
                        worker.last = said
                        tell(self._totals())
        return start_ns, [reports[number] for number in sorted(reports)]

    def _totals(self) -> dict[str, int]:
        names = ("sent", "finished", "in_flight")
        return {n: sum(int(w.last.get(n, 0)) for w in self.workers) for n in names}
