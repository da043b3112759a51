"""``python -m seatrial.loadgen.worker JOB``: one load-generating process.

It opens its connections, says ``ready``, waits for ``go T0`` on stdin (T0 in ns of the monotonic
clock that all processes of a machine share), releases its part of the load, reads the answers
when all is over, and ends with one JSON line about itself. Garbage collection is off meanwhile:
nothing here makes cycles.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from seatrial.core.errors import SeatrialError
from seatrial.core.timer import Timer
from seatrial.core.units import NS_PER_S
from seatrial.loadgen.aligned import compiled_for
from seatrial.loadgen.driver import Driver
from seatrial.loadgen.exchange import RawExchange
from seatrial.loadgen.outcome import pack
from seatrial.loadgen.plan import Job
from seatrial.loadgen.reading import judge
from seatrial.loadgen.spool import Follower, write_record

_LAG_NS = 50_000_000
_REPORT_S = 0.5


class LagMonitor:
    """How late the loop comes to a timer it set: one value every 50 ms."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.lags_ns: list[int] = []
        self._due = time.perf_counter_ns() + _LAG_NS
        self._timer = Timer(loop, self._fired)
        self._timer.set(self._due)

    def _fired(self) -> None:
        now = time.perf_counter_ns()
        self.lags_ns.append(now - self._due)
        self._due = now + _LAG_NS
        self._timer.set(self._due)

    def close(self) -> None:
        """Stop looking."""
        self._timer.close()


def run_queue_wait_ns() -> int | None:
    """Time this process was ready to run and did not, from Linux's schedstat; None elsewhere."""
    try:
        return int(Path("/proc/self/schedstat").read_text("ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return None


def cpu_s() -> float:
    """User and system time of this process, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _say(value: dict[str, Any]) -> None:
    os.write(1, msgspec.json.encode(value) + b"\n")


async def _start_signal(loop: asyncio.AbstractEventLoop) -> int:
    """Wait for ``go T0``; an ended stdin means the parent is gone."""
    line = await loop.run_in_executor(None, sys.stdin.readline)
    word, _, number = line.strip().partition(" ")
    if word != "go":
        raise SystemExit(1)
    return int(number)


async def work(job: Job) -> dict[str, Any]:
    """Warm up, wait for the signal, drive the load, report."""
    loop = asyncio.get_running_loop()
    path = job.file("spool")
    with path.open("wb", buffering=1 << 18) as spool:
        driver = Driver(job, loop, spool)
        cpu_before = cpu_s()
        try:
            await driver.warm()
        except OSError as error:
            return {"error": f"cannot connect: {error}"}
        except SeatrialError as error:
            return {"error": error.what}
        _say({"ready": len(driver.pool.idle), "connect_ns": driver.pool.connect_ns})
        start_ns = await _start_signal(loop)
        gc.collect()
        gc.freeze()
        gc.disable()
        waited = run_queue_wait_ns()
        began = time.perf_counter_ns()
        monitor = LagMonitor(loop)
        reporter = loop.create_task(_report(driver))
        await driver.run(start_ns)
        reporter.cancel()
        monitor.close()
        wall_s = (time.perf_counter_ns() - began) / NS_PER_S
    waited_after = run_queue_wait_ns()
    wait_s = None
    if waited is not None and waited_after is not None:
        wait_s = (waited_after - waited) / NS_PER_S
    drive_cpu_s = cpu_s() - cpu_before
    if job.judge:
        _judge(job, driver.events)
    return {
        "offered": driver.offered,
        "finished": driver.finished,
        "reads": driver.events,
        "stray": driver.stray,
        "opened": driver.pool.opened,
        "connect_ns": driver.pool.connect_ns,
        "lags_ns": monitor.lags_ns,
        "cpu_s": drive_cpu_s,
        "judge_cpu_s": cpu_s() - cpu_before - drive_cpu_s,
        "wall_s": wall_s,
        "run_queue_wait_s": wait_s,
        "kernel_stamps": driver.reactor.kernel_stamps and not job.target.tls,
        "receive_delays_ns": list(driver.reactor.delays_ns),
        "rss_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _judge(job: Job, reads: int) -> None:
    """Read the answers in the spool and leave what they came to beside it."""
    scan = compiled_for(reads)
    with job.file("outcomes").open("wb", buffering=1 << 18) as out:
        for raw in Follower(job.file("spool"), RawExchange).rest():
            outcome = judge(raw, job.target.route, keep_text=job.keep_text, scan=scan)
            write_record(out, pack(outcome))


async def _report(driver: Driver) -> None:
    """Say how far the load is; end with the parent, for whom nobody else would stop it."""
    while True:
        await asyncio.sleep(_REPORT_S)
        state = {
            "sent": driver.sent,
            "finished": driver.finished,
            "in_flight": len(driver.open_exchanges),
        }
        try:
            _say(state)
        except BrokenPipeError:
            os._exit(1)


def main() -> int:
    """Read the job file named on the command line and do it."""
    job = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job)
    _say({"done": uvloop.run(work(job))})
    return 0


if __name__ == "__main__":
    sys.exit(main())
