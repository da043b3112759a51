"""Endurance: the same load for a while; does memory or latency drift?

Drift is the difference of medians between the last and the second quarter of the time, per hour:
the first quarter is left out (caches fill), medians do not see single outliers.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from seatrial.engines import RunningEngine
from seatrial.lifecycle.load import Load
from seatrial.lifecycle.stage import Stage
from seatrial.telemetry import Sampler

TOKENS = 16
LEAST = 3
"""Values a quarter must have before a drift is stated."""


def endurance(stage: Stage, engine: RunningEngine, seconds: float) -> dict[str, Any]:
    """Load for ``seconds``; fates, and drift of resident memory and of TTFT."""
    load = Load(
        engine.base_url, engine.adapter.routes.chat, stage.body(engine, TOKENS), stage.workers
    )
    began = time.monotonic_ns()
    with Sampler(engine.pid, interval_s=max(0.25, seconds / 400)) as sampler:
        load.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and engine.alive():
            time.sleep(0.2)
            stage.progress.amount("lifecycle", seconds - (end - time.monotonic()), seconds, "s")
        alive = engine.alive()
        load.stop()
    memory = [
        ((r.t_ns - began) / 1e9, float(r.tree.rss_bytes))
        for r in sampler.result().rows
        if r.tree is not None
    ]
    waits = [((s.sent_ns - began) / 1e9, s.ttft_ms) for s in load.sent if s.ttft_ms is not None]
    return {
        "seconds": seconds,
        "alive_at_the_end": alive,
        "fates": dict(load.fates()),
        "rss_drift_bytes_per_hour": drift(memory, seconds),
        "ttft_drift_ms_per_hour": drift(waits, seconds),
    }


def drift(values: list[tuple[float, float]], seconds: float) -> float | None:
    """Per hour, from (second, value) pairs; None where a quarter holds too few."""
    second = [v for t, v in values if seconds / 4 <= t < seconds / 2]
    last = [v for t, v in values if 3 * seconds / 4 <= t]
    if len(second) < LEAST or len(last) < LEAST:
        return None
    # the middles of the two quarters are half the time apart
    return (median(last) - median(second)) / (seconds / 2) * 3600
