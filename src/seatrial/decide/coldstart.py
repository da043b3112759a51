"""Cold start as one number."""

from __future__ import annotations

from collections.abc import Mapping


def cold_start_s(parts: Mapping[str, float | None] | None) -> float | None:
    """Seconds from process start to the first token: ``total`` where given, else the parts' sum.

    None where nothing is known.
    """
    if not parts:
        return None
    if parts.get("total") is not None:
        return parts["total"]
    known = [value for value in parts.values() if value is not None]
    return sum(known) if known else None
