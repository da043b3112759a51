"""One flag written several ways: with dashes, or short where the engine's parser takes it."""

from __future__ import annotations

from collections.abc import Iterable

ARGPARSE = frozenset({"vllm", "sglang", "lmdeploy"})
"""Engines whose servers leave Python's argparse its way with shortened flags: ``--tp`` is SGLang's
``--tp-size`` as long as no other flag begins so (argparse's ``allow_abbrev``)."""


def plain(flag: str) -> str:
    """``--max-num-seqs`` and ``max_num_seqs`` are one flag."""
    return flag.lstrip("-").replace("-", "_")


def short_for(flag: str, names: Iterable[str]) -> str | None:
    """The one of the names that begins with this flag, None if none or several do.

    Args:
        flag, names: as ``plain`` gives them.
    """
    found = [name for name in names if name.startswith(flag)]
    return found[0] if len(found) == 1 else None
