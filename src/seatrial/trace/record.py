"""Reading one field of a nested record: by its names old and new, with the row's own errors.

Logs spell one thing in several ways over the years. ``first`` takes the first spelling that is
there; the typed getters turn it into what a table holds or refuse the row, naming the field and
never its content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from seatrial.trace.rows import Rows, tokens
from seatrial.trace.timestamp import any_ns, number_ns

Record = dict[str, Any]
MAX_PROMPT_PARTS = 100_000
_DURATION = re.compile(
    r"\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(ns|us|µs|μs|ms|s|m|h)\s*\Z", re.ASCII
)
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}


def at(record: Any, path: str) -> Any:
    """The value at ``a.b.c``: a key with dots in it is tried first; None where it is not."""
    if not isinstance(record, dict):
        return None
    if path in record:
        return record[path]
    head, dot, rest = path.partition(".")
    return at(record.get(head), rest) if dot and head in record else None


def first(record: Any, *paths: str) -> Any:
    """The first of these that is there and not null or empty text."""
    for path in paths:
        value = at(record, path)
        if value is not None and value != "":
            return value
    return None


def count(record: Any, *paths: str) -> int | None:
    """A token count.

    Raises:
        ValueError: it is there and is none.
    """
    value = first(record, *paths)
    if value is None:
        return None
    try:
        return tokens(value)
    except (ValueError, OverflowError, TypeError):
        raise ValueError(f"{paths[0]}: not a whole number >= 0") from None


def moment(record: Any, *paths: str, unit: str | None = None) -> int | None:
    """A moment in ns: ISO text, or a number in ``unit`` (None: an epoch, by its magnitude).

    Raises:
        ValueError: it is there and is none.
    """
    value = first(record, *paths)
    if value is None:
        return None
    try:
        return any_ns(value, unit)
    except (ValueError, OverflowError):
        raise ValueError(f"{paths[0]}: not a time") from None


def span(record: Any, *paths: str, unit: str) -> int | None:
    """A duration in ns from a number in ``unit``, or from text with its unit (``87.1ms``).

    Raises:
        ValueError: it is there and is none.
    """
    value = first(record, *paths)
    if value is None:
        return None
    try:
        if isinstance(value, str) and (match := _DURATION.match(value)):
            return round(float(match[1]) * _UNITS[match[2]])
        if isinstance(value, (int, float, str)):
            return number_ns(value, unit)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{paths[0]}: not a duration")


def later(start: int | None, end: int | None) -> int | None:
    """``end - start`` where both are there and in order."""
    return None if start is None or end is None or end < start else end - start


def parsed(value: Any) -> Any:
    """A value that some logs write as JSON inside a string."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return value
    return value


def prompt_text(value: Any) -> str | None:
    """One text for a prompt or a list of messages, the same for the same beginning.

    Roles stand before their content, so that two prompts share exactly what they share in the
    conversation. Pictures and sounds count as their kind only.
    """
    value = parsed(value)
    if value is None:
        return None
    parts = list(_parts(value, 0))
    return "".join(parts) if parts else None


def _parts(value: Any, depth: int) -> Iterator[str]:
    if depth > 8:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value[:MAX_PROMPT_PARTS]:
            yield from _parts(item, depth + 1)
    elif isinstance(value, dict):
        if isinstance(value.get("role"), str):
            yield f"\x1e{value['role']}\x1f"
        for key in ("content", "text", "parts", "tool_calls", "arguments", "function", "messages"):
            if key in value:
                yield from _parts(value[key], depth + 1)


def safely(line: int, record: Record, rows: Rows, add: Callable[[Record, Rows], None]) -> None:
    """Add one record, or refuse it with the reason."""
    try:
        add(record, rows)
    except ValueError as error:
        rows.bad(line, str(error)[:120])
    except (ArithmeticError, TypeError, AttributeError, RecursionError):
        rows.bad(line, "fields of another kind than this format has")
