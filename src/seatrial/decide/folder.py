"""A finished (or half-finished) trial read back from its folder, with the hash of every file used.

Everything is read by the names of DESIGN's trial folder; what a stage has not made is absent, and
the decision says what follows from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from seatrial.bench.cell import Cell
from seatrial.core.errors import IntegrityError, PrerequisiteError
from seatrial.core.ids import sha256_file
from seatrial.decide.decide import decide
from seatrial.decide.record import Decision
from seatrial.decide.requests import Columns, read_requests
from seatrial.gate.table import GateTable
from seatrial.plan.record import Plan
from seatrial.quality import QualityResult
from seatrial.store.artifact import read
from seatrial.workload.spec import Workload

MOST_JSON_BYTES = 64 << 20


class _Resolved(msgspec.Struct, kw_only=True):
    """What is read of workload.resolved.json."""

    workload: Workload


class _Expiring(msgspec.Struct, kw_only=True):
    """What is read of one fact."""

    id: str
    expires: str


class _Facts(msgspec.Struct, kw_only=True):
    """What is read of facts.json."""

    facts: list[_Expiring] = []


class _Entry(msgspec.Struct, kw_only=True):
    sha256: str


class _Manifest(msgspec.Struct, kw_only=True):
    """What is read of manifest.json."""

    files: dict[str, _Entry] = {}


@dataclass(frozen=True, slots=True)
class TrialFiles:
    """A trial in memory, without its requests. ``hashes`` name files relative to the folder."""

    folder: Path
    spec: Workload
    gate: GateTable
    plan: Plan
    cells: list[Cell]
    cell_folders: dict[tuple[str, int], Path]
    quality: dict[str, QualityResult]
    lifecycle: dict[str, dict[str, Any]]
    facts_expire: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def requests(self, cell: Cell) -> Columns:
        """The requests of one of its cells, checked against the hash in cell.json."""
        path = self.cell_folders[cell.candidate, cell.start] / "requests.parquet"
        if not path.is_file():
            raise IntegrityError(
                "requests.parquet of a finished cell is missing",
                where=str(path),
                unchanged="the trial is left as it is",
                remedy="restore it, or move the cell's folder away and run the trial again",
            )
        expected = cell.files.get(path.name)
        if expected is not None and sha256_file(path) != expected:
            raise IntegrityError(
                "requests.parquet is not the file that was measured",
                where=str(path),
                unchanged="the trial is left as it is",
                remedy="restore it, or move the cell's folder away and run the trial again",
            )
        return read_requests(path)


def load_trial(folder: Path) -> TrialFiles:
    """Read a trial's artefacts.

    Raises:
        PrerequisiteError: this is no trial, or a stage that is needed has not run.
        IntegrityError: a file is damaged.
    """
    if not (folder / "gate.json").is_file() or not (folder / "plan.json").is_file():
        raise PrerequisiteError(
            "this folder holds no planned trial: gate.json or plan.json is missing",
            where=str(folder),
            remedy="seatrial run WORKLOAD makes it; name the folder that it printed",
        )
    hashes: dict[str, str] = {}

    def take(name: str, kind: type[Any]) -> Any:
        found = read(folder / name, kind)  # first: it says what is missing
        hashes[name] = sha256_file(folder / name)
        return found

    cells, places = [], {}
    for path in sorted((folder / "cells").glob("*/*/cell.json")):
        cell: Cell = take(str(path.relative_to(folder)), Cell)
        cells.append(cell)
        places[cell.candidate, cell.start] = path.parent
    quality, lifecycle = {}, {}
    for path in sorted((folder / "quality").glob("*.json")):
        if not path.name.endswith(".answers.json") and ".tasks-" not in path.name:
            quality[path.stem] = take(str(path.relative_to(folder)), QualityResult)
    for path in sorted((folder / "lifecycle").glob("*.json")):
        lifecycle[path.stem] = take(str(path.relative_to(folder)), dict[str, Any])
    facts = take("facts.json", _Facts).facts if (folder / "facts.json").is_file() else []
    if _table_of(folder) != "gate.json":
        take("gate.json", GateTable)  # what the merged table was made of must be whole too
    found = TrialFiles(
        folder=folder,
        spec=take("workload.resolved.json", _Resolved).workload,
        gate=take(_table_of(folder), GateTable),
        plan=take("plan.json", Plan),
        cells=cells,
        cell_folders=places,
        quality=quality,
        lifecycle=lifecycle,
        facts_expire={fact.id: fact.expires for fact in facts},
        hashes=hashes,
    )
    _as_written(folder, hashes)
    return found


def _as_written(folder: Path, hashes: Mapping[str, str]) -> None:
    """Hold what was read against the manifest, where the trial has one already."""
    path = folder / "manifest.json"
    if not path.is_file():
        return
    entries = read(path, _Manifest).files
    for name, found in hashes.items():
        if name in entries and entries[name].sha256 != found:
            raise IntegrityError(
                f"{name} is not what the trial wrote",
                where=str(folder),
                unchanged="the trial is left as it is",
                remedy="restore the file, or run the trial again in another folder",
            )


def _table_of(folder: Path) -> str:
    """The elimination table after probing where there was one, else the gate's."""
    return "elimination.json" if (folder / "elimination.json").is_file() else "gate.json"


def decide_folder(folder: Path, *, previous: str | None = None) -> Decision:
    """The decision on a trial's folder; writes nothing."""
    trial = load_trial(folder)
    return decide(
        spec=trial.spec,
        gate=trial.gate,
        plan=trial.plan,
        cells=trial.cells,
        requests=trial.requests,
        quality=trial.quality,
        lifecycle=trial.lifecycle,
        previous=previous,
        facts_expire=trial.facts_expire,
        inputs=trial.hashes,
    )
