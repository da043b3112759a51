"""The router in front of an engine during upgrade trials: vLLM's, or the simple switch.

``vllm-router`` (its wheel in an environment of its own: ``seatrial engines install vllm-router``)
is a real one: it checks health, and workers are added and removed over its own routes. Its
retries are switched off, so that what an engine loses is not hidden by the router.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import quote

from seatrial.core.errors import EngineError
from seatrial.engines import Environment, environments, http
from seatrial.engines.environment import clean_environ
from seatrial.engines.process import Process, spawn
from seatrial.engines.start import HOST, free_port
from seatrial.lifecycle.switch import Switch

NAME = "vllm-router"
READY_S = 60.0


class Router(Protocol):
    """What a change of version needs of a router; a context manager."""

    base_url: str
    name: str

    def point_to(self, target: str) -> None:
        """New requests go there from now on, and nowhere else."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def installed_router() -> Environment | None:
    """The environment of vllm-router on this machine, if there is one."""
    found = [e for e in environments() if e.engine == NAME]
    return found[-1] if found else None


def router_for(target: str, log: Path) -> Router:
    """vllm-router where it is installed, else the switch; not started yet."""
    place = installed_router()
    return Switch(target) if place is None else VllmRouter(place, target, log)


class VllmRouter:
    """vllm-router as a process of its own, with one worker at a time."""

    def __init__(self, place: Environment, target: str, log: Path) -> None:
        self.name = f"{NAME} {place.version}"
        self.base_url = ""
        self._place = place
        self._target = target
        self._log = log
        self._process: Process | None = None

    def point_to(self, target: str) -> None:
        """Add the new worker, remove the old one.

        Raises:
            EngineError: the router refused.
        """
        for route, url in (("add_worker", target), ("remove_worker", self._target)):
            path = f"/{route}?url={quote(url, safe='')}"
            reply = http.call(self.base_url, "POST", path, timeout_s=30.0)
            if not reply.ok:
                raise EngineError(
                    f"{self.name} refused {route} (status {reply.status} {reply.error})".rstrip(),
                    where=str(self._log),
                    remedy="look at the end of its log",
                )
        self._target = target

    def __enter__(self) -> Self:
        port = free_port()
        self.base_url = f"http://{HOST}:{port}"
        argv = [self._place.program, "-I", str(self._place.script(NAME))]
        argv += ["--host", HOST, "--port", str(port), "--worker-urls", self._target]
        argv += ["--policy", "round_robin", "--disable-retries"]
        argv += ["--prometheus-host", HOST, "--prometheus-port", str(free_port())]
        self._process = spawn(argv, env=clean_environ(), log=self._log)
        end = time.monotonic() + READY_S
        while not http.get(self.base_url, "/health", timeout_s=2.0).ok:
            if self._process.poll() is not None or time.monotonic() > end:
                self._process.stop(1.0)
                raise EngineError(
                    f"{self.name} did not start",
                    where=str(self._log),
                    remedy="look at the end of its log",
                )
            time.sleep(0.1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.stop(5.0)
