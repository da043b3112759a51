"""manifest.json: the hash of every file of a trial, and why each other one is not there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from seatrial.core.errors import IntegrityError
from seatrial.core.ids import sha256_file
from seatrial.core.provenance import Provenance, provenance
from seatrial.store.artifact import read, write

SCHEMA = "seatrial/manifest/1"
NAME = "manifest.json"
EXPECTED = (
    "workload.yaml",
    "workload.resolved.json",
    "fingerprint.json",
    "facts.json",
    "gate.json",
    "elimination.json",
    "plan.json",
    "cells",
    "predictions",
    "quality",
    "probes",
    "lifecycle",
    "decision.json",
    "dossier.html",
    "dossier.md",
    "dossier.json",
)


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file: SHA-256 of its bytes, and its size."""

    sha256: str
    bytes: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """manifest.json; ``not_run`` names what DESIGN lists and this trial does not hold."""

    schema: str
    files: dict[str, FileEntry]
    not_run: dict[str, str]
    provenance: Provenance


def write_manifest(trial: Path, reasons: dict[str, str]) -> Manifest:
    """Hash every file of the trial and write manifest.json.

    Args:
        trial: the trial's folder.
        reasons: name in DESIGN's list -> why it was not made.
    """
    files = {
        str(path.relative_to(trial)): _entry(path)
        for path in sorted(trial.rglob("*"))
        if path.is_file() and _counts(path, trial)
    }
    missing = {
        name: reasons.get(name, "its stage was not asked for")
        for name in EXPECTED
        if name not in files and not any(f.startswith(f"{name}/") for f in files)
    }
    manifest = Manifest(schema=SCHEMA, files=files, not_run=missing, provenance=provenance())
    write(trial / NAME, manifest)
    return manifest


def renew_manifest(trial: Path) -> None:
    """Bring manifest.json up to date after a stage was repeated; nothing where there is none."""
    if (trial / NAME).is_file():
        write_manifest(trial, dict(read(trial / NAME, Manifest).not_run))


def enter_files(trial: Path, paths: Iterable[Path]) -> None:
    """Bring the entries of these files up to date, drop those that are gone; others stay as they
    are, also of files that were left behind. Nothing where there is no manifest."""
    if not (trial / NAME).is_file():
        return
    manifest = read(trial / NAME, Manifest)
    files = dict(manifest.files)
    for path in paths:
        files.pop(str(path.relative_to(trial)), None)
        if path.is_file():
            files[str(path.relative_to(trial))] = _entry(path)
    ordered = {name: files[name] for name in sorted(files, key=Path)}
    write(trial / NAME, msgspec.structs.replace(manifest, files=ordered))


def _entry(path: Path) -> FileEntry:
    return FileEntry(sha256=sha256_file(path), bytes=path.stat().st_size)


def _counts(path: Path, trial: Path) -> bool:
    parts = path.relative_to(trial).parts
    return parts[0] not in (NAME, "events.jsonl") and not any(p.startswith(".") for p in parts)


def check_manifest(trial: Path) -> Manifest:
    """Compare every file with the manifest.

    Raises:
        IntegrityError: a file is missing or is not what was written.
    """
    manifest = read(trial / NAME, Manifest)
    for name, entry in manifest.files.items():
        path = trial / name
        if not path.is_file() or sha256_file(path) != entry.sha256:
            raise IntegrityError(
                f"{name} is {'not what was written' if path.is_file() else 'missing'}",
                where=str(trial),
                unchanged="the trial is left as it is",
                remedy="restore the file, or run the trial again in another folder",
            )
    return manifest
