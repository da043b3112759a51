"""Where a model lies: a path beside the workload file, or a hub id whose files are here already.

``located`` touches no network. A hub id is looked for in the cache that downloads leave
(``HF_HUB_CACHE``, else ``HF_HOME``/hub, else ~/.cache/huggingface/hub): the snapshot of the
revision, whole. ``hub.fetch`` is the other way, for the gate: headers only, from the network.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from seatrial.core.errors import UsageError

HUB_ID = re.compile(r"^[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}$")
_REVISION = re.compile(r"^[A-Za-z0-9][\w./-]{0,99}$")


def is_hub_id(path: str, base: Path) -> bool:
    """Whether ``path`` names a model on the hub: ``owner/name``, and no such folder here."""
    return HUB_ID.match(path) is not None and not (base / path).exists()


def located(path: str, base: Path, revision: str | None = None) -> Path | None:
    """The folder or file that a workload's ``model.path`` means, null if a hub id is not here.

    A path that is no hub id is given back relative to ``base``, whether or not it exists.
    """
    if not is_hub_id(path, base):
        return base / Path(path).expanduser()
    return _snapshot(path, revision or "main")


def weights(path: str, base: Path, revision: str | None = None) -> Path:
    """The same for whoever loads the weights.

    Raises:
        UsageError: a hub id whose files are not on this machine.
    """
    found = located(path, base, revision)
    if found is None:
        raise UsageError(
            f"{path} is a model on the hub and not on this machine: an engine needs its weights",
            where="model.path",
            remedy=f"hf download {path} --local-dir FOLDER and give the folder; the gate alone "
            "needs no weights: seatrial gate",
        )
    return found.resolve()


def _snapshot(name: str, revision: str) -> Path | None:
    if _REVISION.match(revision) is None or ".." in revision:
        return None
    folder = _cache() / f"models--{name.replace('/', '--')}"
    pointer = folder / "refs" / revision
    commit = revision
    if pointer.is_file() and pointer.stat().st_size <= 100:
        commit = pointer.read_text(encoding="ascii", errors="replace").strip()
    found = folder / "snapshots" / commit
    whole = re.fullmatch(r"[0-9a-f]{7,64}", commit) is not None and found.is_dir()
    return found if whole else None


def _cache() -> Path:
    if own := os.environ.get("HF_HUB_CACHE"):
        return Path(own)
    home = os.environ.get("HF_HOME")
    return (Path(home) if home else Path.home() / ".cache" / "huggingface") / "hub"
