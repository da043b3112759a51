"""Prebuilt TensorRT engines: for which GPU and with which version they were built.

A plan file runs only on the compute capability and TensorRT version that made it
(TensorRT-LLM#222). The engine folder's config.json carries the version; builders that record the
GPU do so under one of the keys below.
"""

from __future__ import annotations

import re

from seatrial.model.bounded import Keys

_GPU_KEYS = (
    "compute_capability",
    "sm",
    "sm_version",
    "cuda_arch",
    "gpu_arch",
    "built_for",
    "gpu_sm",
    "target_sm",
)
_CAPABILITY = re.compile(r"^(?:sm_?|compute_)?(\d{1,2})\.?(\d)a?$")


def capability(text: str) -> int | None:
    """``8.6``, ``sm86``, ``sm_90a`` -> 86, 86, 90."""
    match = _CAPABILITY.match(text.strip().lower())
    return int(match.group(1)) * 10 + int(match.group(2)) if match else None


def built_for(keys: Keys) -> int | None:
    """Compute capability the engine was built for, if the builder wrote it down."""
    places = [keys, keys.section("build_config"), keys.section("pretrained_config")]
    for place in places:
        if place is None:
            continue
        for name in _GPU_KEYS:
            value = place.values.get(name)
            if isinstance(value, int | float | str) and not isinstance(value, bool):
                found = capability(str(value))
                if found is not None:
                    return found
    return None


def baked_in(keys: Keys) -> list[str]:
    """What the build fixed, as traits: ``build-ranks:2``, ``build-length:2048``."""
    build, pretrained = keys.section("build_config"), keys.section("pretrained_config")
    mapping = pretrained.section("mapping") if pretrained else None
    found = []
    if mapping and (ranks := mapping.integer("world_size", high=1 << 12)):
        found.append(f"build-ranks:{ranks}")
    if build and (length := build.integer("max_seq_len", high=1 << 26)):
        found.append(f"build-length:{length}")
    return found


def built_with(keys: Keys) -> str | None:
    """The version of TensorRT-LLM that built it."""
    return keys.text("version")
