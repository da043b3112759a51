"""The sampler: one thread that watches engine, host, GPUs and metrics while a cell runs.

    with Sampler(pid, metrics_url=url) as sampler:
        ...                                    # the measurement
    sampler.result().write(folder)             # telemetry.parquet, server_metrics.parquet

It shares the machine with what it watches, so it is cheap: the default rates cost well under one
per cent of a core, and what it did cost is in the result.
"""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import Self

from seatrial.telemetry.gpu import Gpus
from seatrial.telemetry.host import sample_host
from seatrial.telemetry.processes import Tree
from seatrial.telemetry.prometheus import parse
from seatrial.telemetry.result import MetricRow, Row, Telemetry
from seatrial.telemetry.scrape import Scraper

MAX_METRIC_ROWS = 2_000_000


class Sampler:
    """Samples from ``start`` to ``stop``; also a context manager.

    Args:
        pid: root of the engine's process tree; None for a foreign endpoint.
        metrics_url: where the engine serves Prometheus text; None: it has none.
        interval_s: between samples of processes, host and GPUs.
        scrape_s: between scrapes of the metrics; histograms' buckets are kept of the first and
            the last scrape only.
        gpus: device indices; None: all.
        client_pids: processes of the load generator besides this one.
    """

    def __init__(
        self,
        pid: int | None,
        metrics_url: str | None = None,
        *,
        interval_s: float = 0.5,
        scrape_s: float = 1.0,
        gpus: list[int] | None = None,
        client_pids: list[int] | None = None,
    ) -> None:
        self._tree = Tree(pid) if pid is not None else None
        # the client is single processes: the engine may be a descendant of this one
        self._client = [Tree(p, alone=True) for p in (os.getpid(), *(client_pids or []))]
        self._scraper = Scraper(metrics_url) if metrics_url else None
        self._interval_s = interval_s
        self._scrape_s = scrape_s
        self._gpu_indices = gpus
        self._engine_pid = pid
        self._rows: list[Row] = []
        self._metrics: list[MetricRow] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._cost_s = 0.0

    def start(self) -> Self:
        """Begin; returns the sampler."""
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> Telemetry:
        """End with one last sample, and hand over the result."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        return self.result()

    def result(self) -> Telemetry:
        """What has been sampled so far."""
        return Telemetry(rows=list(self._rows), metrics=list(self._metrics), cost_s=self._cost_s)

    def _run(self) -> None:
        gpus = Gpus(self._gpu_indices)
        began = time.thread_time()
        next_scrape = time.monotonic()
        due = time.monotonic()
        try:
            while True:
                last = self._stop.is_set()
                self._rows.append(self._row(gpus))
                if self._scraper and (last or time.monotonic() >= next_scrape):
                    self._scrape(buckets=last or not self._metrics)
                    next_scrape = time.monotonic() + self._scrape_s
                self._cost_s = time.thread_time() - began
                if last:
                    return
                due = max(due + self._interval_s, time.monotonic())
                self._stop.wait(max(0.0, due - time.monotonic()))
        finally:
            gpus.close()
            if self._scraper:
                self._scraper.close()

    def _row(self, gpus: Gpus) -> Row:
        tree = self._tree.sample() if self._tree else None
        clients = [c for t in self._client if (c := t.sample()) is not None]
        own = {os.getpid()} | (self._tree.pids() if self._tree else set())
        return Row(
            t_ns=time.monotonic_ns(),
            tree=tree,
            client_cpu_s=sum(c.cpu_s for c in clients),
            host=sample_host(),
            gpus=gpus.sample(own) if len(gpus) else [],
        )

    def _scrape(self, *, buckets: bool) -> None:
        if self._scraper is None or len(self._metrics) >= MAX_METRIC_ROWS:
            return
        asked = time.monotonic_ns()
        text = self._scraper.text()
        if text is None:
            return
        now = time.monotonic_ns()
        for series in parse(text, buckets=buckets):
            self._metrics.append(
                MetricRow(
                    t_ns=now,
                    took_ns=now - asked,
                    name=series.name,
                    labels=series.labels,
                    value=series.value,
                )
            )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            self.stop()
