"""SIGTERM with requests in flight, SIGKILL under load, SIGSTOP: what becomes of the service."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import psutil

from seatrial.engines import RunningEngine, http
from seatrial.lifecycle.load import Load
from seatrial.lifecycle.record import Drain
from seatrial.lifecycle.stage import Stage

DEFAULT_DRAIN_S = 30.0
PATIENCE_S = 5.0
"""How long a health check or a request is given before the engine counts as hung."""


def drain(stage: Stage, engine: RunningEngine) -> Drain:
    """SIGTERM while every worker has a request in flight; new requests go on arriving."""
    route = engine.adapter.routes.chat
    grace = stage.spec.operations.drain_s or DEFAULT_DRAIN_S
    load = Load(
        engine.base_url, route, stage.body(engine), stage.workers, once=True, timeout_s=grace + 30
    ).start()
    load.wait_for(stage.workers)
    late = Load(engine.base_url, route, stage.body(engine, 2), 1, pause_s=0.2, timeout_s=grace + 5)
    began = time.monotonic_ns()
    engine.signal(signal.SIGTERM)
    late.start()
    ended = engine.wait(grace)
    killed = ended is None
    if killed:
        ended = engine.stop(0.0)
    seconds = ((ended.ns if ended else time.monotonic_ns()) - began) / 1e9
    in_flight = [s for s in load.stop() if s.sent_ns < began]
    refused = [s for s in late.stop(grace + 10) if s.fate != "finished"]
    engine.stop(0.0)
    finished = sum(s.fate == "finished" for s in in_flight)
    return Drain(
        in_flight=len(in_flight),
        finished=finished,
        cut=len(in_flight) - finished,
        refused=len(refused),
        s=round(seconds, 3),
        killed=killed,
    )


def kill(stage: Stage, engine: RunningEngine) -> dict[str, Any]:
    """SIGKILL under load, restart at once; time until an answer meets the TTFT limit again.

    The restart stands for a supervisor's; its own detection time (the exit of a process is seen
    at once) is left out.
    """
    load = Load(
        engine.base_url, engine.adapter.routes.chat, stage.body(engine), stage.workers, once=True
    ).start()
    load.wait_for(stage.workers)
    killed_ns = time.monotonic_ns()
    assert engine.process is not None
    engine.process.signal_all(signal.SIGKILL)
    engine.stop(0.0)
    lost = [s for s in load.stop() if s.fate != "finished"]
    with stage.start("recovery") as again:
        tries = 0
        while time.monotonic_ns() - killed_ns < 600e9:
            tries += 1
            one = Load(
                again.base_url, again.adapter.routes.chat, stage.body(again, 4), 1, once=True
            ).start()
            sent = one.stop()[0]
            if sent.fate == "finished" and stage.meets_slo(sent.ttft_ms):
                return {
                    "recovery_s": round((sent.first_ns - killed_ns) / 1e9, 3),
                    "lost": len(lost),
                    "tries": tries,
                    "ttft_ms": round(sent.ttft_ms or 0.0, 1),
                    "restart_s": again.cold_start_s,
                }
            time.sleep(0.1)
    return {"recovery_s": None, "lost": len(lost), "tries": tries}


def hang(stage: Stage, engine: RunningEngine) -> dict[str, Any]:
    """SIGSTOP what computes; which check notices, and does it go on after SIGCONT?

    Where an engine is several processes only the workers are stopped: the one that answers
    /health goes on, as in the hangs seen in the field.
    """
    assert engine.pid is not None
    stopped = workers_of(engine.pid)
    began = time.monotonic()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        healthy = engine.healthy(timeout_s=PATIENCE_S)
        health_s = time.monotonic() - began
        asked = time.monotonic()
        reply = http.post(
            engine.base_url, engine.adapter.routes.chat, stage.body(engine, 2), timeout_s=PATIENCE_S
        )
        request_s = time.monotonic() - asked
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    resumed = time.monotonic()
    after = http.post(
        engine.base_url, engine.adapter.routes.chat, stage.body(engine, 2), timeout_s=60.0
    )
    return {
        "processes_stopped": len(stopped),
        "health_answered_while_hung": healthy,
        "health_s": round(health_s, 3),
        "request_answered_while_hung": reply.ok,
        "detected_by": "health" if not healthy else ("request" if not reply.ok else "nothing"),
        "detected_after_s": round(health_s if not healthy else request_s, 3),
        "answers_after_resume": after.ok,
        "resumed_after_s": round(time.monotonic() - resumed, 3),
    }


def workers_of(pid: int) -> list[int]:
    """The processes that compute: the engine's descendants, or itself when it has none."""
    try:
        below = [p.pid for p in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        below = []
    return below or [pid]
