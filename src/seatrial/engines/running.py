"""A running engine: where it answers, what it says of itself, and how it is stopped."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from seatrial.core.errors import EngineError
from seatrial.engines import http, leftovers
from seatrial.engines.adapter import Adapter
from seatrial.engines.effective import normalise, template_sha256
from seatrial.engines.environment import Environment
from seatrial.engines.process import Exit, Process
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Match, read_log, scan, signatures_of


class RunningEngine:
    """An engine that answers; a context manager that leaves nothing running behind.

    Attributes:
        base_url: ``http://HOST:PORT`` without a path.
        model: the name requests must carry.
        pid: root of the engine's process tree; None at an endpoint that someone else runs.
        adapter: how this engine spells things.
        environment: where it runs and at which version.
        settings, flags, own_env: what was asked for, neutrally and in the engine's own words.
        cold_start_s: {process, weights, warmup, first_token, total}; None where unknown.
        log: its output, from byte ``log_offset`` on; None at a foreign endpoint.
    """

    def __init__(
        self,
        *,
        adapter: Adapter,
        environment: Environment,
        base_url: str,
        model: str,
        settings: Settings,
        flags: dict[str, Any],
        log: Path | None,
        process: Process | None = None,
        note: leftovers.Running | None = None,
        artefact: Path | None = None,
    ) -> None:
        self.adapter = adapter
        self.environment = environment
        self.base_url = base_url
        self.model = model
        self.settings = settings
        self.flags = flags
        self.log = log
        self.process = process
        self.artefact = artefact
        self.cold_start_s: dict[str, float | None] = {}
        self.log_offset = 0
        self.own_env: dict[str, str] = {}
        self._note = note

    @property
    def pid(self) -> int | None:
        """Process id of the engine itself (not of its keeper)."""
        return self.process.pid if self.process else None

    @property
    def metrics_url(self) -> str | None:
        """Where Prometheus text is served; None where the engine has none."""
        path = self.adapter.routes.metrics
        return self.base_url + path if path else None

    def alive(self) -> bool:
        """Does the process run? At a foreign endpoint: does it answer?"""
        if self.process is not None:
            return self.process.poll() is None
        return self.healthy()

    def healthy(self, timeout_s: float = 5.0) -> bool:
        """Does the health route answer below 400? Says nothing about whether it can generate."""
        path = self.adapter.routes.health or self.adapter.routes.models
        return http.get(self.base_url, path, timeout_s=timeout_s).ok

    def tokenize(self, text: str) -> list[int]:
        """Token ids of ``text`` without special tokens, by the engine's own tokenizer.

        Raises:
            EngineError: the engine has no tokenize route or it failed.
        """
        return self.adapter.tokenize(self.base_url, self.model, text)

    def metrics_text(self) -> str:
        """The engine's Prometheus text.

        Raises:
            EngineError: it has none, or it did not answer.
        """
        path = self.adapter.routes.metrics
        reply = http.get(self.base_url, path) if path else None
        if reply is None or not reply.ok:
            raise EngineError(
                f"{self.adapter.title} gives no metrics",
                where=self.base_url + (path or ""),
                remedy="start it with its metrics flag, if it has one",
            )
        return reply.text()

    def log_text(self) -> str:
        """The first megabytes of this start's log; "" at a foreign endpoint."""
        return read_log(self.log, self.log_offset) if self.log else ""

    def effective(self) -> dict[str, Any]:
        """Settings as the engine itself reports them, under the keys of ``effective.KEYS``."""
        found = self.adapter.effective(self.base_url, self.log_text())
        name = Path(self.model).name if self.model.startswith("/") else self.model
        found = {"version": self.environment.version or None, "model": name, **found}
        if found.get("template_sha256") is None and "chat_template" not in self.flags:
            # the engine reads it from the same folder and does not show it
            found["template_sha256"] = template_sha256(self.artefact)
        return normalise(found, self.flags, self.own_env)

    def findings(self) -> list[Match]:
        """Log lines that betray fallbacks and chosen backends."""
        version = self.environment.version or None
        known = signatures_of(self.adapter.signatures, self.adapter.name, version)
        return scan(self.log_text(), known)

    def signal(self, number: int) -> None:
        """Send a signal to the engine's main process.

        Raises:
            EngineError: someone else runs it.
        """
        self._own().signal(number)

    def wait(self, timeout_s: float | None = None) -> Exit | None:
        """Wait for the process to end; None after ``timeout_s``."""
        return self._own().wait(timeout_s)

    def stop(self, grace_s: float = 10.0) -> Exit | None:
        """SIGTERM, ``grace_s`` seconds, SIGKILL; idempotent. A foreign endpoint is left alone."""
        if self.process is None:
            return None
        ended = self.process.stop(grace_s)
        if self._note is not None:
            leftovers.forget(self._note)
            self._note = None
        return ended

    def _own(self) -> Process:
        if self.process is None:
            raise EngineError(
                "this engine is run by someone else: seatrial cannot signal it",
                where=self.base_url,
                unchanged="the engine goes on",
                remedy="run the lifecycle trials on an engine that seatrial starts itself",
            )
        return self.process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
