"""Starting again: the same twice, on a port that is taken, with a log that cannot be written."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from seatrial.core.errors import EngineError, PrerequisiteError
from seatrial.engines import RunningEngine, http
from seatrial.engines.start import HOST
from seatrial.lifecycle.stage import Stage

FULL = Path("/dev/full")
"""A file on a disk without room: every write to it fails with ENOSPC."""


def restart_loop(stage: Stage, times: int) -> dict[str, Any]:
    """The same configuration again and again: each start's time, and the same settings."""
    totals: list[float] = []
    seen: list[dict[str, Any]] = []
    for number in range(times):
        with stage.start(f"restart-{number}") as engine:
            totals.append(round(engine.cold_start_s["total"] or 0.0, 3))
            seen.append(_fixed(engine.effective()))
    return {"starts": times, "total_s": totals, "settings_equal": all(s == seen[0] for s in seen)}


def _fixed(effective: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in effective.items() if k != "flags"}


def port_clash(stage: Stage) -> dict[str, Any]:
    """Somebody has the port: seatrial refuses before the start, and nothing is left behind."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        try:
            stage.start("port-clash", port=port).stop()
        except PrerequisiteError as error:
            return {"refused": True, "says": error.what, "exit_code": error.exit_code}
    return {"refused": False}


def full_log(stage: Stage) -> dict[str, Any]:
    """The log's disk is full: does the engine start and answer all the same?"""
    try:
        with stage.start("full-log", log=FULL) as engine:
            return {"starts": True, "answers": _answers(engine, stage)}
    except EngineError as error:
        return {"starts": False, "answers": False, "says": error.what}


def _answers(engine: RunningEngine, stage: Stage) -> bool:
    replies = [
        http.post(engine.base_url, engine.adapter.routes.chat, stage.body(engine, 4))
        for _ in range(3)
    ]
    return all(r.ok for r in replies) and engine.alive()
