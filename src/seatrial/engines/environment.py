"""Where an engine runs: an environment of its own, never seatrial's.

Kinds: ``venv`` (made by ``install``, under ``home_dir()/engines/NAME-VERSION``), ``binary``
(found on the PATH), ``container`` (docker or podman, image by digest) and ``endpoint`` (someone
else runs it; start and stop are theirs).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal

import msgspec

from seatrial.core.errors import IntegrityError
from seatrial.core.folders import home_dir

SCHEMA = "seatrial/engine-environment/1"
RECORD = "environment.json"

_DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """One installed distribution and the hash of the file it came from (None: from a cache)."""

    name: str
    version: str
    sha256: str | None


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """One place where one engine at one version runs.

    ``version`` is the engine's own (for llama.cpp the build number), ``distribution`` and
    ``packages`` what was installed for it; ``seconds`` and ``size_bytes`` what that cost.
    """

    schema: str = SCHEMA
    engine: str
    version: str
    kind: Literal["venv", "binary", "container", "endpoint"]
    distribution: str = ""
    program: str = ""  # python of the venv, path of the binary, image of the container
    packages: list[Package] = []
    created_at: str = ""
    seconds: float = 0.0
    size_bytes: int = 0

    @property
    def python(self) -> Path:
        """The venv's interpreter."""
        return Path(self.program)

    def script(self, name: str) -> Path:
        """A console script of the venv (it need not exist)."""
        return Path(self.program).parent / name


def engines_dir() -> Path:
    """Where the engines' environments live."""
    return home_dir() / "engines"


def environments() -> list[Environment]:
    """Every finished environment on this machine, sorted by engine and folder name.

    A folder without its record is an interrupted installation and does not count.
    """
    found = []
    for record in sorted(engines_dir().glob(f"*/{RECORD}")):
        try:
            found.append(msgspec.json.decode(record.read_bytes(), type=Environment))
        except msgspec.DecodeError as error:
            raise IntegrityError(
                f"the record of an engine's environment is damaged: {error}",
                where=str(record),
                remedy=f"remove the folder {record.parent} and install the engine again",
            ) from error
    return found


def on_path(engine: str, program: str) -> Environment | None:
    """A binary of this name on the PATH, its version not asked yet; None when there is none."""
    path = shutil.which(program)
    if path is None:
        return None
    return Environment(engine=engine, version="", kind="binary", program=path)


def clean_environ(extra: dict[str, str] | None = None) -> dict[str, str]:
    """The present environment variables without those that would mix two Pythons."""
    kept = {k: v for k, v in os.environ.items() if k not in _DROPPED}
    kept["PYTHONNOUSERSITE"] = "1"
    kept["PYTHONUNBUFFERED"] = "1"
    return {**kept, **(extra or {})}
