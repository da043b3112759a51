"""Releases requests at their times and hands finished exchanges to the spool.

One driver runs in one worker process on one event loop. Open loop: a request goes out at its
scheduled time whatever became of the others. Closed loop: each user sends, waits for the end,
pauses, sends the next. Turns of a session wait for the turn before and carry its answer. Latency
always counts from the scheduled time, so lateness is seen and not hidden.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from collections import deque
from pathlib import Path
from typing import Any, BinaryIO

from seatrial.core.seeds import derive_seed
from seatrial.core.timer import Timer
from seatrial.loadgen.exchange import OPEN, REFUSED, STALL, WHOLE, Exchange, freeze
from seatrial.loadgen.plan import ANSWER_MARK, Job, PlanReader
from seatrial.loadgen.pool import Pool
from seatrial.loadgen.reactor import open_reactor
from seatrial.loadgen.reading import answer_text, json_text
from seatrial.loadgen.spool import write_record
from seatrial.loadgen.watch import TokenWatch
from seatrial.loadgen.wire import Connection

_clock = time.perf_counter_ns
_SWEEP_S = 0.25
_SOON_NS = 5_000_000_000  # a cancellation so early must not be late by a reader's stay
_MANY_READS = 4096
MAX_ANSWER_BYTES = 64 << 20
_SILENT_NS = 400_000_000
_DRAIN_S = 0.002
_DRAIN_BUDGET_NS = 1_000_000


class Driver:
    """The load of one worker.

    ``mine`` are the indices of the plan that this worker sends, in order of their schedule.
    """

    def __init__(self, job: Job, loop: asyncio.AbstractEventLoop, spool: BinaryIO) -> None:
        self.job = job
        self.load = job.load
        self.loop = loop
        self.spool = spool
        self.plan = PlanReader(Path(job.folder), job.requests)
        self.reactor = open_reactor(loop, job.load)
        if self.reactor.stay_ns and any(0 <= ns < _SOON_NS for ns in self.plan.cancel_ns):
            self.reactor.stay_ns = 0  # the loop's own timers must be on time
        self.pool = Pool(job.target, self, loop, self.reactor)
        self.stray = 0
        self.sent = 0
        self.finished = 0
        self.events = 0
        self.open_exchanges: dict[Connection, Exchange] = {}
        self.connecting: set[asyncio.Task[Any]] = set()
        self.waiting: deque[tuple[int, int]] = deque()
        self.due: list[tuple[int, int]] = []  # (time, index): open loop and follow-up turns
        self.answers: dict[int, list[bytes]] = {}
        self.next_turn: dict[int, deque[int]] = {}
        self.fresh_index: deque[int] = deque()
        self.start_ns = 0
        self.offered = 0
        self.over = loop.create_future()
        self.to_write: deque[Exchange] = deque()
        self._closing = False
        self._releasing = False
        self._set_for = -1
        self._timer = Timer(loop, self._fired)
        self._head = _head(job)
        self._thinks = 0
        self._sweeps = 0
        self._share_out()

    def _share_out(self) -> None:
        """Which requests are this worker's: a session stays with one worker."""
        job, plan = self.job, self.plan
        begun: set[int] = set()
        for index in range(job.requests):
            session = plan.session[index]
            key = session if session >= 0 else index
            if key % job.workers != job.worker:
                continue
            if session in begun:
                self.next_turn.setdefault(session, deque()).append(index)
                continue
            if session >= 0:
                begun.add(session)
            if self.load.mode == "open":
                self.due.append((plan.scheduled_ns[index], index))
            else:
                self.fresh_index.append(index)
        heapq.heapify(self.due)

    async def warm(self) -> None:
        """Open the connections of the plan before the clock starts.

        Raises:
            EngineError: the host cannot be resolved.
            OSError: nothing listens there.
        """
        await self.pool.resolve()
        for _ in range(self.load.connections):
            self.pool.give_back(await self.pool.open())

    async def run(self, start_ns: int) -> None:
        """Release everything; returns when all is over or the window has ended."""
        self.start_ns = start_ns
        if self.load.mode == "closed":
            for user in range(self.job.worker, self.load.users, self.job.workers):
                self._queue_next(self.load.ramp_ns * user // max(1, self.load.users))
        if self.load.duration_ns:
            wait = (start_ns + self.load.duration_ns - _clock()) / 1e9
            self.loop.call_later(max(0.0, wait), self._end_window)
        self.loop.call_later(_SWEEP_S, self._sweep)
        self._set_timer()
        self._check_over()
        await self.over
        self._timer.close()
        self.pool.close()
        self.reactor.close()
        while self.to_write:
            write_record(self.spool, freeze(self.to_write.popleft()))

    def _queue_next(self, offset_ns: int) -> None:
        """A closed-loop user takes the next request off the pile."""
        if self.fresh_index:
            heapq.heappush(self.due, (offset_ns, self.fresh_index.popleft()))

    def _set_timer(self) -> None:
        """Wake for the next request; setting the same time twice is left out."""
        first = self.due[0][0] if self.due and not self._closing else -1
        if first >= 0 and first != self._set_for:
            self._timer.set(self.start_ns + first)
            self._set_for = first

    def _fired(self) -> None:
        self._set_for = -1
        self._release()

    def _release(self) -> None:
        """Send everything that is due, and come again for the next.

        A request that fails at once may make the next one due: that one is sent by the same loop.
        """
        if self._releasing:
            return
        self._releasing = True
        while self.due and not self._closing:
            offset, index = self.due[0]
            if self.start_ns + offset > _clock():
                break
            heapq.heappop(self.due)
            self.offered += 1
            self._issue(index, self.start_ns + offset)
        self._releasing = False
        self._set_timer()

    def _issue(self, index: int, scheduled_ns: int) -> None:
        cap = self.load.max_in_flight
        if cap and len(self.open_exchanges) + len(self.connecting) >= cap:
            self.waiting.append((index, scheduled_ns))
            return
        connection = None if self.load.fresh else self.pool.take()
        if connection is not None:
            self._send(connection, Exchange(index, scheduled_ns))
            return
        task = self.loop.create_task(self._connect_and_send(index, scheduled_ns))
        self.connecting.add(task)
        self.reactor.opening += 1
        task.add_done_callback(self._connected)

    def _connected(self, task: asyncio.Task[Any]) -> None:
        self.connecting.discard(task)
        self.reactor.opening -= 1

    async def _connect_and_send(self, index: int, scheduled_ns: int) -> None:
        exchange = Exchange(index, scheduled_ns)
        try:
            connection = await self.pool.open()
        except OSError as error:  # TimeoutError is one
            exchange.how = REFUSED
            exchange.error = f"{type(error).__name__}: {error}"[:200]
            exchange.done_ns = _clock()
            self._account(exchange)
            return
        if self._closing:
            exchange.how = OPEN
            connection.close()
            self._account(exchange)
            return
        exchange.connect_ns = connection.connect_ns
        self._send(connection, exchange)

    def _send(self, connection: Connection, exchange: Exchange) -> None:
        index = exchange.index
        body = self.plan.body(index)
        if self.plan.session[index] in self.answers:
            body = self._with_answers(index, body)
        tokens = self.plan.cancel_tokens[index]
        if tokens >= 0:
            exchange.watch = TokenWatch(self.job.target.route, tokens)
        after = self.plan.cancel_ns[index]
        if after >= 0:
            wait = max(0, exchange.scheduled_ns + after - _clock())
            exchange.cancel = self.loop.call_later(wait / 1e9, self._cancel, connection, exchange)
        head = self._head % (len(body), index)
        self.open_exchanges[connection] = exchange
        self.sent += 1
        connection.start(exchange, head + body)

    def _with_answers(self, index: int, body: bytes) -> bytes:
        for turn, text in enumerate(self.answers.get(self.plan.session[index], [])):
            body = body.replace(ANSWER_MARK.format(turn=turn).encode(), text)
        return body

    def _cancel(self, connection: Connection, exchange: Exchange) -> None:
        if connection.exchange is exchange:
            connection.cancel()

    def ended(self, connection: Connection, exchange: Exchange) -> None:
        """An exchange is over: keep it, reuse the connection, release what waited for it."""
        self.open_exchanges.pop(connection, None)
        if isinstance(exchange.cancel, asyncio.TimerHandle):
            exchange.cancel.cancel()
        if connection.reusable and not self.load.fresh:
            self.pool.give_back(connection)
        else:
            connection.close()
        self._account(exchange)

    def _account(self, exchange: Exchange) -> None:
        task = asyncio.current_task()
        if task is not None:  # a connect that failed: its task ends with this call
            self.connecting.discard(task)
        self.finished += 1
        self.events += len(exchange.stamps)
        if exchange.how == WHOLE:
            self.reactor.pace(exchange.done_ns - exchange.sent_ns, len(exchange.stamps))
        self.to_write.append(exchange)
        if len(self.to_write) == 1:
            self.loop.call_later(_DRAIN_S, self._drain)
        if not self._closing:
            self._follow(exchange)
            while self.waiting and self._room():
                self._issue(*self.waiting.popleft())
            self._release()
        self._check_over()

    def _drain(self) -> None:
        """Write finished exchanges a little at a time: many may end at once."""
        stop = _clock() + _DRAIN_BUDGET_NS
        while self.to_write and _clock() < stop:
            write_record(self.spool, freeze(self.to_write[0]))
            self.to_write.popleft()
        if self.to_write:
            self.loop.call_later(_DRAIN_S, self._drain)

    def _room(self) -> bool:
        cap = self.load.max_in_flight
        return not cap or len(self.open_exchanges) + len(self.connecting) < cap

    def _follow(self, exchange: Exchange) -> None:
        """The next turn of the session, or the next request of a closed-loop user."""
        # The pause counts from the answer's end, so that a late loop shows as lateness. What is
        # released at once cannot be before the end was seen: up to a tick that is no lateness.
        now = exchange.done_ns - self.start_ns
        seen = min(exchange.noticed_ns - self.start_ns, now + self.reactor.tick_ns)
        session = self.plan.session[exchange.index]
        turns = self.next_turn.get(session)
        if turns:
            text = answer_text(freeze(exchange), self.job.target.route)
            self.answers.setdefault(session, []).append(json_text(text))
            index = turns.popleft()
            planned = self.plan.scheduled_ns[index]
            wait = self._think() if self.load.mode == "closed" else 0
            heapq.heappush(self.due, (max(now + wait, seen, planned), index))
            return
        self.answers.pop(session, None)
        if self.load.mode == "closed":
            self._queue_next(max(now + self._think(), seen))

    def _think(self) -> int:
        """An exponential pause with the plan's mean, from the seed and a running number."""
        if not self.load.think_ns:
            return 0
        self._thinks += 1
        draw = derive_seed(self.job.seed, "think", self.job.worker, self._thinks) / 2**64
        return round(-math.log(1.0 - draw) * self.load.think_ns)

    def lost(self, connection: Connection) -> None:
        """The server closed an idle connection."""
        self.pool.forget(connection)

    def _sweep(self) -> None:
        """Give up what has been silent for too long."""
        now = _clock()
        heard = self.reactor.heard_since(now - _SILENT_NS)
        for connection, exchange in list(self.open_exchanges.items()):
            if connection in heard:
                continue
            connection.settle()
            last = exchange.stamps[-1] if exchange.stamps else exchange.sent_ns
            if now - last > _SILENT_NS:
                connection.look_again()
            if now - last > self.load.stall_ns and connection.exchange is exchange:
                connection.give_up(STALL)
        self._sweeps += 1
        if self._sweeps % 8 == 0:
            self._bound_memory()
        if not self._closing:
            self.loop.call_later(_SWEEP_S, self._sweep)

    def _bound_memory(self) -> None:
        """Give up an answer that has grown beyond any use; what came of it is kept."""
        for connection, exchange in list(self.open_exchanges.items()):
            if len(exchange.stamps) > _MANY_READS:
                size = sum(map(len, exchange.chunks))
                if size > MAX_ANSWER_BYTES and connection.exchange is exchange:
                    exchange.error = f"the answer grew beyond {MAX_ANSWER_BYTES >> 20} MiB"
                    connection.give_up(STALL)

    def _end_window(self) -> None:
        """The window is over: what is open is in flight, what is not due yet is not offered."""
        self._closing = True
        for connection in list(self.open_exchanges):
            connection.give_up(OPEN)
        for index, scheduled_ns in self.waiting:
            exchange = Exchange(index, scheduled_ns)
            exchange.how = OPEN
            self._account(exchange)
        self.waiting.clear()
        self._check_over()

    def _check_over(self) -> None:
        idle = not (self.open_exchanges or self.connecting or self.waiting)
        ended = self.finished >= self.offered
        if idle and ended and (self._closing or not self.due) and not self.over.done():
            self._closing = True
            self.over.set_result(None)


def _head(job: Job) -> bytes:
    """The request's head, with places for the length of the body and the index."""
    target = job.target
    default_port = 443 if target.tls else 80
    host = f"[{target.host}]" if ":" in target.host else target.host
    if target.port != default_port:
        host += f":{target.port}"
    lines = [f"POST {target.path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json"]
    lines += ["Accept: text/event-stream, application/json", "User-Agent: seatrial"]
    lines += [f"{name}: {value}" for name, value in target.headers.items()]
    fixed = "\r\n".join(lines).replace("%", "%%").encode("latin-1")
    run = job.run_id.encode("ascii")
    return fixed + b"\r\nContent-Length: %d\r\nX-Request-Id: " + run + b"-%d\r\n\r\n"
