"""Progress out of a stage: events to a sink. No stage knows who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives what a stage is doing. Implementations must be cheap and must not raise."""

    def step(self, stage: str, text: str) -> None:
        """A step began or ended; ``text`` is one plain line for people."""

    def amount(self, stage: str, done: float, total: float | None, unit: str) -> None:
        """How far a long step is; may be called often, sinks thin it out."""


class Silent:
    """A sink that keeps nothing: for library use and tests."""

    def step(self, stage: str, text: str) -> None:
        """Ignore."""

    def amount(self, stage: str, done: float, total: float | None, unit: str) -> None:
        """Ignore."""
