"""Trials that nobody ran, for tests of the dossier and of the pages: every number is invented.

The names say so: the workload is called ``made-up-CASE``. The records are the real types and the
files the real layout, so what reads them cannot tell; only the engines never ran.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial import plan
from seatrial.store import write
from seatrial.workload.spec import Workload

from .cells import make_cell
from .decision import decision, quality
from .elimination import gate, ids
from .lifecycle import lifecycle
from .origin import EVIL
from .workload import fact, fingerprint, resolved, workload_of

__all__ = ["CASES", "EVIL", "made_up", "make_trial"]

CASES = ("selected", "tie", "undecided", "none_feasible", "regression")


def make_trial(
    folder: Path, case: str = "selected", *, n: int = 400, starts: int = 3, hostile: bool = False
) -> Path:
    """Write a whole trial into ``folder`` (made if absent) and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"made-up-{case}"
    workload = workload_of(name)
    (folder / "workload.yaml").write_text(f"schema: seatrial/workload/1\nname: {name}\n")
    _json(folder / "workload.resolved.json", resolved(workload, n))
    _json(folder / "fingerprint.json", fingerprint(n))
    _json(folder / "facts.json", {"schema": "seatrial/facts/1", "facts": [fact()]})
    table = gate(case, hostile)
    write(folder / "gate.json", table)
    write(folder / "plan.json", plan.make(msgspec.convert(workload, Workload), table))
    measured = ids(case)
    speed = {"selected": (1.0, 0.8, 0.62), "regression": (1.0, 1.3)}.get(case, (1.0, 0.99, 1.01))
    for place, candidate in enumerate(measured):
        for start in range(1, starts + 1):
            cell_folder = folder / "cells" / candidate / f"{start:03d}"
            spoiled = case == "undecided" and place == 1 and start == 1
            make_cell(
                cell_folder,
                candidate,
                start,
                n=n,
                slow=speed[place],
                invalid=spoiled,
                hostile=hostile and place == 0,
            )
        _json(folder / "quality" / f"{candidate}.json", quality(candidate, place))
    if case == "selected":
        write(folder / "lifecycle" / f"{measured[-1]}.json", lifecycle(measured[-1]))
    _json(folder / "decision.json", decision(case, measured, starts))
    write_manifest(folder)
    return folder


def write_manifest(folder: Path) -> None:
    """manifest.json with the hash of each file."""
    files = {
        str(p.relative_to(folder)): {
            "sha256": hashlib.sha256(p.read_bytes()).hexdigest(),
            "bytes": p.stat().st_size,
        }
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != "manifest.json"
    }
    skipped = not (folder / "lifecycle").is_dir()
    not_run = {"lifecycle": "--skip lifecycle was given"} if skipped else {}
    _json(
        folder / "manifest.json",
        {"schema": "seatrial/manifest/1", "files": files, "not_run": not_run, "provenance": {}},
    )


def _json(path: Path, value: Any) -> None:
    write(path, value)


@pytest.fixture(scope="session")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every made-up case once; read only."""
    base = tmp_path_factory.mktemp("made-up")
    return {case: make_trial(base / f"made-up-{case}", case) for case in CASES}
