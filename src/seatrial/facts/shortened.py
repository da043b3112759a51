"""Flags written short, where the engine's own parser understands them."""

from __future__ import annotations

from collections.abc import Iterable

ARGPARSE = frozenset({"vllm", "sglang", "lmdeploy"})
"""Engines whose servers leave Python's argparse its way with shortened flags: ``--tp`` is SGLang's
``--tp-size`` as long as no other flag begins so (argparse's ``allow_abbrev``)."""


def short_for(flag: str, names: Iterable[str]) -> str | None:
    """The one of the names that begins with this flag, None if none or several do.

    Args:
        flag, names: without leading dashes, with underscores.
    """
    found = [name for name in names if name.startswith(flag)]
    return found[0] if len(found) == 1 else None
