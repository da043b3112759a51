"""What ``seatrial engines ... --json`` prints."""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.engines.environment import Environment
from seatrial.engines.leftovers import Running


class EngineList(msgspec.Struct, frozen=True, kw_only=True):
    """``engines list``: finished environments, programs on the PATH, and what runs now."""

    schema: str = "seatrial/engines-list/1"
    installed: list[Environment]
    running: list[Running]


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """``engines start``: an engine that goes on running."""

    schema: str = "seatrial/engines-start/1"
    base_url: str
    model: str
    pid: int | None
    log: str
    cold_start_s: dict[str, float | None]
    effective: dict[str, Any]


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """``engines stop``: those that were stopped."""

    schema: str = "seatrial/engines-stop/1"
    stopped: list[Running]


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """``engines remove``: whether there was something to remove."""

    schema: str = "seatrial/engines-remove/1"
    removed: bool
