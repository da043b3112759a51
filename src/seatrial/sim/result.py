"""What a simulation says: times per request, and the distributions that an SLO asks for.

Predictions. Every record that leaves this package is marked as such; none is a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.sim.load import Load

Floats = NDArray[np.float64]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the timeline; times in seconds, counts after the step."""

    started: float
    ended: float
    prefill_tokens: int
    prefilling: int
    decoding: int
    waiting: int
    held_blocks: int
    preemptions: int


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """sim timeline --json: every step; ``blocks`` is the pool, ``kind`` always predicted."""

    schema: str
    kind: str
    basis: str
    policy: str
    blocks: int
    steps: tuple[Step, ...]


class Predicted(msgspec.Struct, frozen=True, kw_only=True):
    """Distributions of one simulation: ms, tokens per second; ``kind`` is always predicted."""

    kind: str
    policy: str
    requests: int
    ttft_ms: dict[str, float]
    tpot_ms: dict[str, float]
    e2e_ms: dict[str, float]
    output_tokens_per_s: float
    steps: int
    preemptions: int
    makespan_s: float


@dataclass(frozen=True, slots=True)
class SimResult:
    """Seconds per request, in the order of the load."""

    policy: str
    load: Load
    first_token: Floats
    finish: Floats
    preempted: NDArray[np.int64]
    steps: int
    makespan: float
    timeline: tuple[Step, ...] = ()

    @property
    def ttft(self) -> Floats:
        """First token - arrival, in seconds."""
        return self.first_token - self.load.arrival

    @property
    def e2e(self) -> Floats:
        """Last token - arrival, in seconds."""
        return self.finish - self.load.arrival

    @property
    def tpot(self) -> Floats:
        """(Last - first token) / (output - 1), in seconds, of answers of two tokens or more."""
        several = self.load.output > 1
        span = self.finish[several] - self.first_token[several]
        return span / (self.load.output[several] - 1)

    def predicted(self) -> Predicted:
        """The distributions."""
        total = float(self.load.output.sum())
        return Predicted(
            kind="predicted",
            policy=self.policy,
            requests=self.load.n,
            ttft_ms=summary(self.ttft),
            tpot_ms=summary(self.tpot),
            e2e_ms=summary(self.e2e),
            output_tokens_per_s=total / self.makespan if self.makespan else 0.0,
            steps=self.steps,
            preemptions=int(self.preempted.sum()),
            makespan_s=self.makespan,
        )


def summary(seconds: Floats) -> dict[str, float]:
    """Mean and percentiles in ms (linear interpolation); empty where there is nothing."""
    if not seconds.size:
        return {}
    p50, p90, p95, p99 = np.percentile(seconds, [50, 90, 95, 99]) * 1000
    return {
        "mean": float(seconds.mean() * 1000),
        "p50": float(p50),
        "p90": float(p90),
        "p95": float(p95),
        "p99": float(p99),
    }
