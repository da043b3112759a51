"""Any OpenAI-compatible server that someone else runs: measured, never started or stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seatrial.core.errors import UsageError
from seatrial.engines.adapter import Adapter, Launch
from seatrial.engines.environment import Environment
from seatrial.engines.settings import Settings
from seatrial.workload.spec import CandidateSpec


class Endpoint(Adapter):
    """The common denominator: OpenAI routes; everything else is tried and may be missing."""

    name = "endpoint"
    title = "the server"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """None: its start is someone else's."""
        return {}

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """Refused.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            "a foreign endpoint cannot be started by seatrial",
            where=environment.program,
            unchanged="nothing was started",
            remedy="start it yourself and give its address",
        )
