"""Is this a flag of this engine at this version? Asked before anything is started."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from seatrial.core.errors import UsageError
from seatrial.facts.shortened import plain, short_for


def require_known(
    engine: str,
    flags: Iterable[str],
    known: Iterable[str],
    *,
    source: str,
    shortened: bool = False,
) -> None:
    """Raise for the first unknown flag, naming the nearest one that exists.

    Args:
        engine: title and version for the message.
        known: flags with underscores and without leading dashes.
        source: where ``known`` comes from, in words.
        shortened: whether the engine takes the unmistakable beginning of a flag for the flag.

    Raises:
        UsageError: a flag is not among the known ones.
    """
    names = {plain(k) for k in known}
    for flag in flags:
        name = plain(flag)
        if name in names or name.removeprefix("no_") in names:
            continue
        if shortened and short_for(name, names):
            continue
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        raise UsageError(
            f"{engine} has no flag {flag!r}" + (f"; the nearest is {near[0]!r}" if near else ""),
            where=f"args.{flag} (known flags: {source})",
            unchanged="nothing was started",
            remedy=f"use {near[0]}" if near else "see the flags with seatrial facts show",
        )


def require_choices(engine: str, flags: dict[str, Any], choices: dict[str, list[str]]) -> None:
    """Raise for the first value that is not among its flag's choices.

    Raises:
        UsageError: naming the nearest choice.
    """
    for flag, value in flags.items():
        allowed = choices.get(plain(flag))
        if not allowed or not isinstance(value, str) or value in allowed:
            continue
        near = difflib.get_close_matches(value, allowed, n=1, cutoff=0.4)
        raise UsageError(
            f"{engine}: {flag} cannot be {value!r}" + (f"; nearest: {near[0]!r}" if near else ""),
            where=f"args.{flag}",
            unchanged="nothing was started",
            remedy=f"one of: {', '.join(map(str, allowed))}",
        )
