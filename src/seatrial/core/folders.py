"""The folders that are seatrial's own on this machine.

``SEATRIAL_HOME`` (data: engines' environments, fact store, registry of what is running) and
``SEATRIAL_CACHE`` (may be deleted at any time: derived model files, index responses) override
the XDG places.
"""

from __future__ import annotations

import os
from pathlib import Path


def home_dir() -> Path:
    """Where engines' environments and the fact store live; made by whoever writes there."""
    if own := os.environ.get("SEATRIAL_HOME"):
        return Path(own)
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "seatrial"


def cache_dir() -> Path:
    """Where content-addressed derivations and downloads live; safe to delete."""
    if own := os.environ.get("SEATRIAL_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "seatrial"
