"""Did the model call the right functions with acceptable arguments?

``expected`` is a list of {function: {argument: [acceptable values]}}, as the Berkeley Function
Calling Leaderboard writes it; an acceptable "" means that the argument may be left out. All calls
must be there, no other, in any order. Text is compared with case, spaces and punctuation folded.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

_FOLD = re.compile(r"[\s,./\-_*^()'\"]+")


def safe_name(name: str) -> str:
    """A function name that OpenAI's route takes: dots become underscores."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]


def calls_match(
    calls: list[dict[str, Any]], expected: list[dict[str, Any]], tools: list[dict[str, Any]]
) -> bool:
    """Whether the calls ({name, arguments}) are the expected ones, whatever their order."""
    if len(calls) != len(expected):
        return False
    left = list(calls)
    for wanted in expected:
        name, arguments = next(iter(wanted.items()))
        found = next((c for c in left if _matches(c, name, arguments, tools)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _matches(
    call: dict[str, Any], name: str, wanted: dict[str, list[Any]], tools: list[dict[str, Any]]
) -> bool:
    if call.get("name") not in (name, safe_name(name)):
        return False
    given = call.get("arguments")
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.DecodeError, RecursionError):
            return False
    if not isinstance(given, dict) or set(given) - set(wanted):
        return False
    for argument, values in wanted.items():
        if argument not in given:
            if "" not in values and argument in _required(name, tools):
                return False
        elif not any(_same(given[argument], value) for value in values):
            return False
    return True


def _required(name: str, tools: list[dict[str, Any]]) -> list[str]:
    for tool in tools:
        function = tool.get("function", {})
        if function.get("name") in (name, safe_name(name)):
            required = function.get("parameters", {}).get("required", [])
            return [str(argument) for argument in required]
    return []


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) < 1e-9
    if isinstance(one, str) and isinstance(other, str):
        return _FOLD.sub("", one).casefold() == _FOLD.sub("", other).casefold()
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(
            any(_same(one[key], value) for value in _options(other[key])) for key in one
        )
    return bool(one == other)


def _options(value: Any) -> list[Any]:
    return [*value, value] if isinstance(value, list) else [value]
