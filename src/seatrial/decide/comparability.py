"""Is it a comparison of engines, or of deployments?

Engines are compared only where model, numeric precision, maximum context, request trace and
sampling are the same. Each cell carries these as its comparability fields; where contenders
differ in one, the comparison is of deployments and the field is named. A field of those five that
nobody knows is named too: not known to be equal is not equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seatrial.decide.record import ComparisonKind, Differing

_IDENTITY = frozenset({"engine", "engine_version", "version", "backend", "candidate", "artefact"})
"""What names a candidate. The artefact's file is one of these: ``model`` is the hash of its
weights' values, so that the same weights in two formats are one model."""
ESSENTIAL = frozenset({"model", "precision", "context_tokens", "trace", "sampling"})


def kind_of(fields: Mapping[str, Mapping[str, Any]]) -> ComparisonKind:
    """Compare the fields of the contenders.

    Args:
        fields: candidate -> comparability fields of its cells; nested mappings are compared by
            dotted name. What names the engine itself is not a difference.
    """
    flat = {name: dict(_flatten(values)) for name, values in fields.items()}
    names = sorted({key for values in flat.values() for key in values})
    differs = []
    for key in names:
        if key.split(".")[0] in _IDENTITY:
            continue
        values = {candidate: found.get(key) for candidate, found in flat.items()}
        first = next(iter(values.values()))
        unknown = first is None and key in ESSENTIAL and len(values) > 1
        if unknown or any(value != first for value in values.values()):
            differs.append(Differing(field=key, values=values))
    return ComparisonKind(kind="deployments" if differs else "engines", differs=differs)


def _flatten(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            found.extend(_flatten(value, f"{name}."))
        else:
            found.append((name, value))
    return found
