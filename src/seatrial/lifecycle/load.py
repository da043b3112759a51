"""A small closed-loop load for trials that break things: what became of every request.

Not the load generator: no arrivals, no percentiles. Each worker sends one streamed request after
another and notes how it ended; that is all a lifecycle trial asks.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from seatrial.core.errors import EngineError
from seatrial.engines import http
from seatrial.engines.start import has_content

Fate = Literal["finished", "cut", "refused", "failed", "open"]


class Sent(msgspec.Struct, kw_only=True):
    """One request; times in ns of the monotonic clock, 0 where it did not happen."""

    sent_ns: int
    first_ns: int = 0
    ended_ns: int = 0
    fate: Fate = "open"
    events: int = 0

    @property
    def ttft_ms(self) -> float | None:
        """From sending to the first content."""
        return (self.first_ns - self.sent_ns) / 1e6 if self.first_ns else None


class Load:
    """``workers`` threads that keep ``body`` in flight against ``base_url`` until stopped.

    Args:
        base_url: address, or a function that gives the present one.
        once: each worker sends one request and ends.
    """

    def __init__(
        self,
        base_url: str | Callable[[], str],
        route: str,
        body: dict[str, Any],
        workers: int,
        *,
        once: bool = False,
        timeout_s: float = 120.0,
        pause_s: float = 0.05,
    ) -> None:
        self._where = base_url if callable(base_url) else (lambda: base_url)
        self._route = route
        self._body = {**body, "stream": True}
        self._once = once
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.sent: list[Sent] = []
        self._threads = [
            threading.Thread(target=self._work, args=(i,), daemon=True) for i in range(workers)
        ]

    def start(self) -> Load:
        """Begin."""
        for thread in self._threads:
            thread.start()
        return self

    def stop(self, timeout_s: float = 120.0) -> list[Sent]:
        """No new requests; wait for those in flight; returns all."""
        self._stop.set()
        end = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return self.sent

    def wait_for(self, count: int, timeout_s: float = 60.0) -> bool:
        """Until ``count`` requests have had a first token and are still open."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if sum(s.first_ns > 0 and s.fate == "open" for s in list(self.sent)) >= count:
                return True
            time.sleep(0.01)
        return False

    def fates(self) -> Counter[str]:
        """How many of each fate."""
        return Counter(s.fate for s in self.sent)

    def _work(self, number: int) -> None:
        serial = 0
        while not self._stop.is_set():
            body = _distinct(self._body, f"{number}.{serial}")
            self._send(body)
            serial += 1
            if self._once:
                return
            self._stop.wait(self._pause_s)

    def _send(self, body: dict[str, Any]) -> None:
        record = Sent(sent_ns=time.monotonic_ns())
        with self._lock:
            self.sent.append(record)
        finished = False
        try:
            with http.stream(self._where(), self._route, body, timeout_s=self._timeout_s) as answer:
                if answer.status < 400:
                    for event in answer.events():
                        chunk = event.json()
                        if has_content(chunk):
                            record.first_ns = record.first_ns or event.ns
                            record.events += 1
                        finished = finished or _finish(chunk)
                record.fate = _fate(answer.status, record, finished)
        except EngineError:
            record.fate = "refused"
        record.ended_ns = time.monotonic_ns()


def _distinct(body: dict[str, Any], tag: str) -> dict[str, Any]:
    """The request with words of its own in front, so that no two share a prefix."""
    messages = [{"role": "user", "content": f"{tag}: {body['messages'][0]['content']}"}]
    return {**body, "messages": messages}


def _finish(chunk: Any) -> bool:
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and bool(first.get("finish_reason"))


def _fate(status: int, record: Sent, finished: bool) -> Fate:
    if finished:
        return "finished"
    return "cut" if status < 400 and record.events else "failed"
