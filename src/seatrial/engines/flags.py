"""Is this a flag of this engine at this version? Asked before anything is started."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from seatrial.core.errors import UsageError


def require_known(engine: str, flags: Iterable[str], known: Iterable[str], *, source: str) -> None:
    """Raise for the first unknown flag, naming the nearest one that exists.

    Args:
        engine: title and version for the message.
        known: flags with underscores and without leading dashes.
        source: where ``known`` comes from, in words.

    Raises:
        UsageError: a flag is not among the known ones.
    """
    names = {plain(k) for k in known}
    for flag in flags:
        name = plain(flag)
        if name in names or name.removeprefix("no_") in names:
            continue
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        raise UsageError(
            f"{engine} has no flag {flag!r}" + (f"; the nearest is {near[0]!r}" if near else ""),
            where=f"args.{flag} (known flags: {source})",
            unchanged="nothing was started",
            remedy=f"use {near[0]}" if near else "see the flags with seatrial facts show",
        )


def plain(flag: str) -> str:
    """``--max-num-seqs`` and ``max_num_seqs`` are one flag."""
    return flag.lstrip("-").replace("-", "_")
