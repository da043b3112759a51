"""One file per format. A new reader is a file here with a ``READER`` and a line in ``NAMES``."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from seatrial.trace.reader import Reader

NAMES = (
    "azure_csv",
    "vidur",
    "mooncake",
    "generic",
)


@cache
def readers() -> dict[str, Reader]:
    """Every reader by its id, in the order of ``NAMES``."""
    found = (import_module(f"seatrial.trace.formats.{name}").READER for name in NAMES)
    return {reader.id: reader for reader in found}
