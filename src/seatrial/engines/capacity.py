"""How an engine is spread over devices and how many adapters it holds: one rule, two spellings.

vLLM and SGLang ask for the same things under other names; a flag appears only where something
other than one device and no adapter is asked for.
"""

from __future__ import annotations

from typing import Any

from seatrial.engines.settings import Settings


def placement(settings: Settings, *, tp: str, pp: str) -> dict[str, Any]:
    """Flags named ``tp`` and ``pp`` for tensor and pipeline parallel size above 1."""
    sizes = {tp: settings.tp, pp: settings.pp}
    return {name: size for name, size in sizes.items() if size > 1}


def adapters(settings: Settings, *, most: str, given: str) -> dict[str, Any]:
    """Flags for LoRA: ``most`` held at once, their rank, and those ``given`` as NAME=PATH."""
    if not settings.max_lora_adapters and not settings.lora:
        return {}
    flags: dict[str, Any] = {
        "enable_lora": True,
        most: max(settings.max_lora_adapters, len(settings.lora)),
        "max_lora_rank": settings.max_lora_rank,
    }
    if settings.lora:
        flags[given] = [f"{adapter.name}={adapter.path}" for adapter in settings.lora]
    return flags
