"""A trial's folder as the dossier reads it: the files of DESIGN 4.3 and nothing else.

What is not there is None and has its reason; what is there and does not decode is an error. The
stages' records are read by the keys that are published, so that a trial made by a neighbouring
version opens as well; keys that this version does not know are kept where a section shows all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.bench.cell import Cell
from seatrial.core.errors import IntegrityError, PrerequisiteError, UsageError
from seatrial.gate.table import GateTable
from seatrial.store.artifact import read, refuse_newer

Document = dict[str, Any]
MAX_JSON_BYTES = 64 << 20
NOT_RUN = "its stage has not run"


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a dossier is made of, decoded.

    ``absent`` maps what DESIGN lists and this folder lacks to the reason. ``hashes`` are those of
    manifest.json (path -> SHA-256), empty where there is none.
    """

    folder: Path
    name: str
    workload: Document
    fingerprint: Document | None
    facts: list[Document]
    gate: GateTable | None
    plan: Document | None
    cells: list[Cell]
    quality: dict[str, Document]
    probes: dict[str, Document]
    lifecycle: dict[str, Document]
    decision: Document | None
    absent: dict[str, str]
    hashes: dict[str, str]
    sizes: dict[str, int]


def open_trial(folder: Path) -> Trial:
    """Read a trial.

    Raises:
        UsageError: the folder is not a trial.
        IntegrityError: a file in it is damaged.
    """
    if not (folder / "workload.yaml").is_file() and not (folder / "gate.json").is_file():
        raise UsageError(
            "this folder is not a trial (it has no workload.yaml and no gate.json)",
            where=str(folder),
            remedy="give the folder that seatrial run wrote, e.g. trials/NAME",
        )
    manifest = document(folder / "manifest.json") or {}
    workload = _workload(folder)
    parts: dict[str, Document | None] = {
        name: document(folder / f"{name}.json") for name in ("fingerprint", "plan", "decision")
    }
    merged = folder / "elimination.json"  # gate + probes, where there was probing
    gate_file = merged if merged.is_file() else folder / "gate.json"
    gate = read(gate_file, GateTable) if gate_file.is_file() else None
    if gate_file is merged and (folder / "gate.json").is_file():
        read(folder / "gate.json", GateTable)  # what was merged must be whole too
    files = manifest.get("files") or {}
    trial = Trial(
        folder=folder,
        name=str(workload.get("name") or folder.name),
        workload=workload,
        fingerprint=parts["fingerprint"],
        facts=_facts(folder / "facts.json"),
        gate=gate,
        plan=parts["plan"],
        cells=cells(folder),
        quality=documents(folder / "quality"),
        probes=documents(folder / "probes"),
        lifecycle=documents(folder / "lifecycle"),
        decision=parts["decision"],
        absent={},
        hashes={name: str(entry.get("sha256", "")) for name, entry in files.items()},
        sizes={name: int(entry.get("bytes", 0)) for name, entry in files.items()},
    )
    return msgspec.structs.replace(trial, absent=_absent(trial, manifest.get("not_run") or {}))


def document(path: Path) -> Document | None:
    """A JSON object from ``path``; None where there is no such file.

    Raises:
        IntegrityError: it is no JSON object, or larger than 64 MiB.
    """
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise _damaged(path, "it is larger than 64 MiB")
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None
    try:
        refuse_newer(path, data)
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(value, dict):
        raise _damaged(path, "it holds no JSON object")
    return value


def documents(folder: Path) -> dict[str, Document]:
    """Every ``*.json`` directly in ``folder`` by its stem; raw answers are not read."""
    if not folder.is_dir():
        return {}
    found = (p for p in folder.glob("*.json") if not p.name.startswith("."))
    paths = sorted(p for p in found if not p.name.endswith(".answers.json"))
    return {path.stem: value for path in paths if (value := document(path)) is not None}


def cells(folder: Path) -> list[Cell]:
    """The finished cells, by candidate and start."""
    found = [read(path, Cell) for path in sorted((folder / "cells").glob("*/*/cell.json"))]
    return sorted(found, key=lambda c: (c.candidate, c.start))


def _workload(folder: Path) -> Document:
    resolved = document(folder / "workload.resolved.json")
    if resolved is None:
        return {}
    for key in ("spec", "workload"):
        if isinstance(inner := resolved.get(key), dict):
            return {**{k: v for k, v in resolved.items() if k != key}, **inner}
    return resolved


def _facts(path: Path) -> list[Document]:
    stored = document(path) or {}
    listed = stored.get("facts") or []
    if isinstance(listed, dict):
        listed = [{"id": key, **value} for key, value in listed.items()]
    return [fact for fact in listed if isinstance(fact, dict)]


def _absent(trial: Trial, stated: Document) -> dict[str, str]:
    """What is missing, with manifest.json's reason where it has one."""
    there = {
        "fingerprint.json": trial.fingerprint,
        "facts.json": (trial.folder / "facts.json").is_file(),
        "gate.json": trial.gate,
        "plan.json": trial.plan,
        "cells": trial.cells,
        "quality": trial.quality,
        "probes": trial.probes,
        "lifecycle": trial.lifecycle,
        "decision.json": trial.decision,
    }
    return {name: str(stated.get(name) or NOT_RUN) for name, value in there.items() if not value}


def _damaged(path: Path, why: str) -> IntegrityError:
    return IntegrityError(
        f"{path.name} is damaged: {why}",
        where=str(path),
        unchanged="the trial is left as it is",
        remedy="restore the file, or move it away and run the trial again: the stage is repeated",
    )


def need_decision(trial: Trial) -> Document:
    """The decision.

    Raises:
        PrerequisiteError: there is none yet.
    """
    if trial.decision is None:
        raise PrerequisiteError(
            "this trial has no decision yet",
            where=str(trial.folder),
            remedy=f"run: seatrial decide {trial.folder.name}",
        )
    return trial.decision
