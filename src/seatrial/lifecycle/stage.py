"""What every lifecycle trial works with: how to start this candidate, and what to send it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.progress import Progress
from seatrial.engines import Environment, RunningEngine, Settings, start
from seatrial.workload.spec import CandidateSpec, Workload

OUTPUT_TOKENS = 200
"""Long enough that a request is still being answered when the signal comes."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One candidate under lifecycle trial; ``folder`` takes the engines' logs."""

    spec: Workload
    candidate: CandidateSpec
    artefact: Path
    settings: Settings
    folder: Path
    progress: Progress

    def start(
        self,
        name: str,
        *,
        environment: Environment | None = None,
        log: Path | None = None,
        **changes: Any,
    ) -> RunningEngine:
        """Start the candidate; its log is ``NAME.engine.log``."""
        return start(
            self.candidate,
            artefact=self.artefact,
            settings=msgspec.structs.replace(self.settings, **changes),
            log=log or self.folder / f"{name}.engine.log",
            progress=self.progress,
            environment=environment,
        )

    @property
    def workers(self) -> int:
        """Requests in flight: what the workload asks for, within reason."""
        return max(2, min(8, self.settings.concurrency or 4))

    def body(self, engine: RunningEngine, tokens: int = OUTPUT_TOKENS) -> dict[str, Any]:
        """A request that takes a while."""
        limit = self.settings.context_tokens
        made = min(tokens, limit // 2) if limit else tokens
        body: dict[str, Any] = {
            "model": engine.model,
            "messages": [{"role": "user", "content": "Count upwards, one number a line."}],
            "max_tokens": made,
            "temperature": 0,
        }
        if engine.adapter.ignore_eos:
            body["ignore_eos"] = True
        return body

    def meets_slo(self, ttft_ms: float | None) -> bool:
        """Is a time to first token within the workload's strictest TTFT limit?"""
        if ttft_ms is None:
            return False
        limits = [v for v in (self.spec.slo.ttft_ms or {}).values() if v is not None]
        return not limits or ttft_ms <= min(limits)
