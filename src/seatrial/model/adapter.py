"""LoRA adapters: rank, base and whether expert weights are in them, from their own headers."""

from __future__ import annotations

from pathlib import Path

import msgspec

from seatrial.model.bounded import Keys, read_object
from seatrial.model.safetensors_file import read_header


class AdapterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One adapter folder (``adapter_config.json`` and ``adapter_model.safetensors``)."""

    path: str
    rank: int | None
    targets: list[str]
    base: str | None
    experts: bool | None


def read_adapter(folder: Path) -> AdapterInfo | None:
    """The adapter in this folder; null if there is none.

    ``experts`` is null where neither tensors nor target modules tell.
    """
    path = folder / "adapter_config.json"
    if not path.is_file():
        return None
    keys = Keys(read_object(path), path)
    targets = keys.texts("target_modules") + keys.texts("target_parameters")
    weights = folder / "adapter_model.safetensors"
    experts: bool | None = None
    if weights.is_file():
        experts = any(".experts" in t.name for t in read_header(weights).tensors)
    elif targets:
        experts = any("expert" in t for t in targets) or None
    return AdapterInfo(
        path=str(folder),
        rank=keys.integer("r", "rank"),
        targets=targets[:64],
        base=keys.text("base_model_name_or_path"),
        experts=experts,
    )
