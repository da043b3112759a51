"""Nested values as lines of text: for settings, fingerprints and the documents of stages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any


def number(value: float) -> str:
    """A number for people: four significant digits, thousands apart, no trailing zeros."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if math.isnan(value) or math.isinf(value):
        return "–"
    if value == 0:
        return "0"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(digits, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def text_of(value: Any) -> str:
    """Any scalar as text; None is a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool | int | float):
        return number(value)
    return str(value)


def flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, scalar) of a nested value; short lists of scalars stay on one line."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list):
        if all(not isinstance(v, dict | list) for v in value):
            yield prefix, ", ".join(text_of(v) for v in value) if value else None
        else:
            for i, inner in enumerate(value):
                yield from flatten(inner, f"{prefix}[{i}]")
    else:
        yield prefix, value


def pairs(value: dict[str, Any], *, leave_out: tuple[str, ...] = ()) -> list[list[str]]:
    """[key, text] lines of a document, provenance and schema apart."""
    skip = ("schema", "provenance", *leave_out)
    return [[k, text_of(v)] for k, v in flatten(value) if k.split(".")[0] not in skip]


def sentence(item: Any) -> str:
    """A reason in words: the text itself, its ``says``, or its keys and values on one line."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict):
        for key in ("says", "text", "because", "reason"):
            if isinstance(said := item.get(key), str):
                return said
        return "; ".join(f"{k} {text_of(v)}" for k, v in flatten(item))
    return text_of(item)
