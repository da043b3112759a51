"""What is different between two trials besides their numbers: where a regression's cause is sought.

Versions, the candidate's own flags, the settings read back from the running engine, lines of the
engine's log, and what the fact store says of the two versions. A default that changed under an
unchanged flag shows up in the settings or in the facts, not in the flags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

MOST_LOG_BYTES = 2 << 20
MOST_LINES = 60
_ABSENT = "(absent)"
_SAYS_MUCH = re.compile(
    r"warn|error|fallback|falling back|not support|unsupported|disabl|deprecat|ignor|fail|slow"
    r"|attention|backend|kernel|quant|cache|graph|compil|batch|slots?|context",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|[0-9a-f]{8,}|\d+(?:[.:,]\d+)*")
_FOLDER = re.compile(r"(?<![\w:/])/(?:[^\s/'\"]+/)+")
_SPACE = re.compile(r"\s+")


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not the same: its name, and both values."""

    name: str
    old: Any
    new: Any


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """``diff``'s ``changed``. ``logs`` hold lines (numbers blanked) found on one side only."""

    versions: list[Difference]
    flags: list[Difference]
    settings: list[Difference]
    logs: list[Difference]
    facts: list[Difference]


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Keys whose values differ, nested mappings by dotted name, in order of name."""
    left, right = dict(_flat(old)), dict(_flat(new))
    names = sorted(left.keys() | right.keys())
    return [
        Difference(name=n, old=left.get(n, _ABSENT), new=right.get(n, _ABSENT))
        for n in names
        if left.get(n, _ABSENT) != right.get(n, _ABSENT)
    ]


def log_differences(old: Path, new: Path) -> list[Difference]:
    """Kinds of lines that only one of two engine logs has; those that say something first.

    Numbers, addresses and times are blanked, so that only wording counts. At most MOST_LINES.
    """
    left, right = log_kinds(old), log_kinds(new)
    gone = [Difference(name="line gone", old=x, new=None) for x in left if x not in right]
    come = [Difference(name="line new", old=None, new=x) for x in right if x not in left]
    both = come + gone
    both.sort(key=lambda d: not _SAYS_MUCH.search(str(d.new or d.old)))
    return both[:MOST_LINES]


def log_kinds(path: Path) -> dict[str, int]:
    """Kinds of lines in a log and how often each occurs; reads at most MOST_LOG_BYTES.

    Numbers and folders are blanked: where a file lay is no difference, and is nobody's business.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MOST_LOG_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return {}
    kinds: dict[str, int] = {}
    for line in text.splitlines():
        kind = _SPACE.sub(" ", _NUMBERS.sub("#", _FOLDER.sub(".../", line[:400]))).strip()
        kind = "".join(c if c.isprintable() else "?" for c in kind)
        if kind.strip("# .:-|") and len(kinds) < 20_000:
            kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def fact_differences(engine: str, old: str | None, new: str | None) -> list[Difference]:
    """What the fact store says changed between two versions of an engine, losses first."""
    if not old or not new or old == new:
        return []
    from seatrial.core.errors import SeatrialError
    from seatrial.facts import load
    from seatrial.facts.diff import diff

    store = load()
    try:
        found = diff(store.engine(engine, old), store.engine(engine, new))
    except SeatrialError as error:  # the store does not know one of the two versions
        return [Difference(name="not known", old=None, new=error.what)]
    return [
        Difference(name=f"{c.predicate} {c.subject}", old=c.old, new=c.new)
        for c in found.changes[:MOST_LINES]
    ]


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            found.extend(_flat(value, f"{before}{key}."))
        else:
            found.append((f"{before}{key}", value))
    return found
