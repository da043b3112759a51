"""Upgrade and roll-back behind a router, under load: how long it takes, how much is lost.

The new engine is started beside the old one (memory for both is needed), the router is pointed at
it, the old one is drained by waiting for its open connections, and only then stopped: so SIGTERM
meets no request in flight and its manners do not matter.

Without a GPU both engines share the machine's cores: each is started on a half of its own
(``cores``), or the old one's spinning threads starve the new one's start.
"""

from __future__ import annotations

import time

from seatrial.engines import Environment, RunningEngine
from seatrial.lifecycle.cores import halves
from seatrial.lifecycle.load import Load
from seatrial.lifecycle.record import Change
from seatrial.lifecycle.router import Router, router_for
from seatrial.lifecycle.stage import Stage

SETTLE_S = 1.0
TOKENS = 8
"""Short answers: the more requests end during a change, the less of a loss can go unseen."""


def upgrade_and_back(stage: Stage, new: Environment | None) -> tuple[Change, Change]:
    """A to B, then B back to A; ``new`` None: B is the same version (the mechanics alone)."""
    left, right = halves(stage.settings.cpus)
    old_engine = stage.start("change-old", cpus=left)
    log = stage.folder / "router.log"
    with old_engine, router_for(old_engine.base_url, log) as router:
        load = Load(
            router.base_url,
            old_engine.adapter.routes.chat,
            stage.body(old_engine, TOKENS),
            stage.workers,
        ).start()
        try:
            time.sleep(SETTLE_S)
            up, engine = _change(stage, router, load, old_engine, "change-new", new, right)
            with engine:
                time.sleep(SETTLE_S)
                place = old_engine.environment
                back, restored = _change(stage, router, load, engine, "change-back", place, left)
                with restored:
                    time.sleep(SETTLE_S)
                    load.stop()
        finally:
            load.stop()
    return up, back


def _change(
    stage: Stage,
    router: Router,
    load: Load,
    old: RunningEngine,
    name: str,
    environment: Environment | None,
    cpus: list[int] | None,
) -> tuple[Change, RunningEngine]:
    """Start the new one, point the router, drain the old one, stop it."""
    began_ns = time.monotonic_ns()
    new = stage.start(name, environment=environment, cpus=cpus)
    try:
        router.point_to(new.base_url)
        pointed_ns = time.monotonic_ns()
        open_then = _open_before(load, pointed_ns)
        deadline = time.monotonic() + (stage.spec.operations.drain_s or 60.0)
        while _open_before(load, pointed_ns) and time.monotonic() < deadline:
            time.sleep(0.02)
        old.stop(5.0)
    except BaseException:
        new.stop(2.0)
        raise
    ended_ns = time.monotonic_ns()
    time.sleep(0.2)  # what the stop cut has been noticed by then
    lost = [s for s in load.sent if s.ended_ns >= began_ns and s.fate not in ("finished", "open")]
    change = Change(
        s=round((ended_ns - began_ns) / 1e9, 3),
        lost=len(lost),
        served=sum(s.fate == "finished" and began_ns <= s.ended_ns <= ended_ns for s in load.sent),
        old=old.environment.version,
        new=new.environment.version,
        open_at_switch=open_then,
        old_cpus=old.settings.cpus,
        new_cpus=cpus,
        router=router.name,
    )
    return change, new


def _open_before(load: Load, pointed_ns: int) -> int:
    """Requests still open that may have gone to the old engine."""
    return sum(s.fate == "open" and s.sent_ns <= pointed_ns for s in list(load.sent))
