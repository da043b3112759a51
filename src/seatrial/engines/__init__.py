"""Engines as they really are: installed, started, asked, stopped.

    install("llama.cpp")                     an environment of its own
    installed()                              {"llama.cpp": ["11549"]}
    with start(candidate, artefact=..., log=...) as engine:
        engine.base_url, engine.effective()

One adapter per engine (``adapter(name)``) spells flags, routes and names; everything that starts,
waits and stops is common. seatrial and an engine never share a Python environment.
"""

from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes
from seatrial.engines.container import register
from seatrial.engines.environment import Environment, environments
from seatrial.engines.installation import install, remove
from seatrial.engines.registry import ADAPTERS, adapter
from seatrial.engines.running import RunningEngine
from seatrial.engines.settings import LoraAdapter, Settings, settings_for
from seatrial.engines.signatures import Match, Signature
from seatrial.engines.start import attach, start


def installed() -> dict[str, list[str]]:
    """Engine -> versions with a finished environment on this machine (routers are no engines)."""
    found: dict[str, list[str]] = {}
    for environment in environments():
        if environment.engine not in ADAPTERS and environment.engine.endswith("-router"):
            continue
        found.setdefault(environment.engine, []).append(environment.version)
    return found


__all__ = [
    "ADAPTERS",
    "Adapter",
    "Environment",
    "Launch",
    "LoraAdapter",
    "Match",
    "MetricNames",
    "Routes",
    "RunningEngine",
    "Settings",
    "Signature",
    "adapter",
    "attach",
    "environments",
    "install",
    "installed",
    "register",
    "remove",
    "settings_for",
    "start",
]
