"""What can be said with another tool's result: numbers, their definitions, and what is missing.

Grades, best first: ``cell`` (ours: records, telemetry, self-judgement), ``records`` (per request,
by another client whose own error is unknown), ``aggregate`` (summary numbers alone),
``simulated`` (another tool's prediction). Evidence of a lower grade may order trials; it decides
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

SCHEMA = "seatrial/evidence/1"
STATISTICS = ("mean", "p50", "p90", "p95", "p99")

NEVER = (
    "the client's own error against a known truth",
    "effective settings of the engine",
    "model hash, precision and chat template",
)
"""What none of these tools records."""


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """One metric as the tool gives it. ``definition`` is the tool's own; None: not told."""

    unit: str
    definition: str
    statistics: dict[str, float | None]
    n: int | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Another tool's result.

    Attributes:
        grade: records, aggregate or simulated.
        requests: counts as far as told (offered, completed, failed, cancelled).
        load: what the tool says of the load.
        missing: what it did not record, in words.
    """

    schema: str
    tool: str
    tool_version: str | None
    grade: str
    source: str
    sha256: str
    model: str | None
    requests: dict[str, int | None]
    duration_s: float | None
    output_tokens: int | None
    output_tokens_per_s: float | None
    metrics: dict[str, Number]
    load: dict[str, Any]
    missing: list[str]


def comparable(a: Number, b: Number) -> bool:
    """Whether two numbers may be put side by side: same unit, same definition."""
    return a.unit == b.unit and a.definition == b.definition


def of_values(values: Sequence[float], unit: str, definition: str) -> Number:
    """A metric from values per request."""
    if not len(values):
        return Number(unit=unit, definition=definition, statistics=dict.fromkeys(STATISTICS), n=0)
    array = np.asarray(values, np.float64)
    points = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}
    statistics: dict[str, float | None] = {"mean": float(array.mean())}
    statistics |= {name: float(np.percentile(array, q)) for name, q in points.items()}
    return Number(unit=unit, definition=definition, statistics=statistics, n=len(array))


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if np.isfinite(value) else None


def whole(value: Any) -> int | None:
    """A whole number, or None."""
    found = number(value)
    return None if found is None else round(found)


def text(value: Any) -> str | None:
    """A short text, or None."""
    return value[:200] if isinstance(value, str) else None
