"""Which package index to read: what pip and uv have been told, else pip's own default.

No host stands in our source. Asked in this order: uv's environment variables, pip's (``pip
config list`` merges files and environment), uv.toml, and at last the default that pip names in
its own help text. ``no-index`` set anywhere means: local files only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec

from seatrial.core.errors import PrerequisiteError

_TIMEOUT_S = 60


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses in order of precedence (the first that has the project answers), and the CA file.

    ``said_by``: where the first address comes from, for error messages and ``doctor``.
    """

    indexes: list[str]
    cafile: str | None
    said_by: str


def read_settings() -> Settings:
    """What this machine is set up to use.

    Raises:
        PrerequisiteError: indexes are switched off, or pip is not there and nothing is set.
    """
    pip = _pip_config()
    if pip.get("no-index", "").lower() in ("1", "true", "yes") or os.environ.get("UV_OFFLINE"):
        raise _no_index("package indexes are switched off (no-index, or UV_OFFLINE)")
    first, said_by = _first(pip)
    extra = (os.environ.get("UV_INDEX", "") + " " + pip.get("extra-index-url", "")).split()
    cafile = pip.get("cert") or os.environ.get("SSL_CERT_FILE") or None
    return Settings(
        indexes=[i.rstrip("/") for i in (first, *extra)],
        cafile=cafile if cafile and Path(cafile).is_file() else None,
        said_by=said_by,
    )


def _first(pip: dict[str, str]) -> tuple[str, str]:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        if value := os.environ.get(name):
            return value, name
    if value := pip.get("index-url"):
        return value, "pip's configuration"
    if value := _uv_toml():
        return value, "uv.toml"
    found = re.search(r"\(default:?\s+(https?://[^\s)]+)\)", _pip("download", "--help"))
    if found:
        return found[1], "pip's built-in default"
    raise _no_index("no package index is set, and pip is not there to name its default")


def _pip(*arguments: str) -> str:
    """Stdout of this interpreter's pip; "" without one."""
    env = {**os.environ, "COLUMNS": "400", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", *arguments],
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            env=env,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[: 1 << 20].decode("utf-8", "replace") if done.returncode == 0 else ""


def _pip_config() -> dict[str, str]:
    """pip's merged settings by option; environment over install and download over global."""
    settings: dict[str, tuple[int, str]] = {}
    rank = {"global": 0, "install": 1, "download": 2, ":env:": 3}
    for line in _pip("config", "list").splitlines():
        name, _, raw = line.partition("=")
        section, _, option = name.strip().rpartition(".")
        weight = rank.get(section, -1)
        if weight >= settings.get(option, (-1, ""))[0] and weight >= 0:
            settings[option] = (weight, " ".join(_unquote(raw).split()))
    return {option: value for option, (_, value) in settings.items()}


def _unquote(raw: str) -> str:
    """pip prints values as Python's repr."""
    text = raw.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1].replace("\\n", "\n")
    return text


def _uv_toml() -> str | None:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    for path in (Path(base) / "uv/uv.toml", Path("/etc/uv/uv.toml")):
        try:
            document = tomllib.loads(path.read_text())
        except (OSError, tomllib.TOMLDecodeError):
            continue
        indexes = document.get("index", [])
        default = [i.get("url") for i in indexes if isinstance(i, dict) and i.get("default")]
        if default or document.get("index-url"):
            return str((default or [document["index-url"]])[0])
    return None


def _no_index(why: str) -> PrerequisiteError:
    return PrerequisiteError(
        why,
        unchanged="the facts at hand are as they were; they still answer",
        remedy="set pip's index-url, or give a local wheel, sdist or folder instead of a version",
    )
