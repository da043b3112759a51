"""Log lines that betray what an engine really does: fallbacks, backends, features switched off.

A signature is a text as the engine's source spells it, with the versions in which it exists.
Those extracted by the fact store (predicate ``log_signature``) are merged with the adapters'
own. Matching is by regular expression on single lines, each cut to 2,000 characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from seatrial import facts
from seatrial.facts import version as order

MAX_LOG_BYTES = 8 << 20
MAX_LINE = 2000

Level = Literal["info", "warning", "failure"]


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """One telling line.

    Attributes:
        id: short name, unique within the engine.
        pattern: regular expression searched in the line.
        meaning: what a reader must know; groups of the pattern fill ``{1}``, ``{2}``.
        level: ``failure`` where a required feature is off, ``warning`` for a slower path.
        optimised: what it says about the execution path: True, False, or nothing (None).
        since, until: versions in which the text exists, ``until`` exclusive; "" is open.
    """

    id: str
    pattern: str
    meaning: str
    level: Level = "info"
    optimised: bool | None = None
    since: str = ""
    until: str = ""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """A signature found in a log; ``line`` is the first such line, ``count`` how many."""

    id: str
    level: Level
    says: str
    line: str
    count: int
    optimised: bool | None


_LEVELS: dict[str, tuple[Level, bool | None]] = {
    "evidence": ("info", True),
    "degraded": ("warning", False),
    "failure": ("failure", None),
}


def signatures_of(own: Iterable[Signature], engine: str, version: str | None) -> list[Signature]:
    """The adapter's signatures that hold for a version, then those extracted from exactly it."""
    kept = [
        s for s in own if version is None or order.within(version, s.since or None, s.until or None)
    ]
    if not version or engine not in facts.ENGINES:
        return kept
    known = facts.load().engine(engine, version)
    for fact in known.all("log_signature") if known.exact else []:
        level, optimised = _LEVELS.get(str(fact.value), ("info", None))
        kept.append(
            Signature(
                id=fact.id,
                pattern=re.escape(fact.subject),
                meaning=str(fact.detail.get("means") or fact.subject),
                level=level,
                optimised=optimised,
            )
        )
    return kept


def read_log(path: Path, offset: int = 0, limit_bytes: int = MAX_LOG_BYTES) -> str:
    """``limit_bytes`` of a log from ``offset`` on (start-up is where engines tell), as text."""
    if not path.is_file():  # absent, or a device
        return ""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(limit_bytes).decode("utf-8", errors="replace")
    except OSError:
        return ""


def tail(path: Path, lines: int = 12, limit_bytes: int = 64 << 10) -> str:
    """The log's last lines, each cut to a screen's width: for error messages."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - limit_bytes))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(line[:200] for line in text.splitlines()[-lines:])


def scan(text: str, signatures: Iterable[Signature]) -> list[Match]:
    """Every signature that occurs, in the order of the list; one a line, the earlier wins."""
    compiled = [(s, re.compile(s.pattern)) for s in signatures]
    found: dict[str, Match] = {}
    for line in text.splitlines():
        short = line[:MAX_LINE]
        for signature, pattern in compiled:
            hit = pattern.search(short)
            if hit is None:
                continue
            earlier = found.get(signature.id)
            if earlier is None:
                found[signature.id] = Match(
                    id=signature.id,
                    level=signature.level,
                    says=_fill(signature.meaning, hit),
                    line=short.strip(),
                    count=1,
                    optimised=signature.optimised,
                )
            else:
                found[signature.id] = msgspec.structs.replace(earlier, count=earlier.count + 1)
    matches = [found[s.id] for s, _ in compiled if s.id in found]
    return [m for i, m in enumerate(matches) if m.line not in {x.line for x in matches[:i]}]


def _fill(meaning: str, hit: re.Match[str]) -> str:
    for number, group in enumerate(hit.groups(), start=1):
        meaning = meaning.replace(f"{{{number}}}", group or "")
    return meaning
