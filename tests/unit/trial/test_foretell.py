"""The prediction lies in the cell before its engine starts, hashed with the cell's files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seatrial.core.errors import EngineError
from seatrial.core.ids import sha256_file
from seatrial.core.progress import Silent
from seatrial.plan import PlannedCell
from seatrial.sim import frozen
from seatrial.trial import measure
from seatrial.trial.candidate import TrialCandidate
from seatrial.trial.folder import PARTS, TrialFolder
from seatrial.trial.foretell import foretell
from seatrial.trial.manifest import EXPECTED
from seatrial.workload.spec import CandidateSpec


def test_the_first_start_has_no_prediction(tmp_path: Path) -> None:
    planned = PlannedCell(candidate="c", start=1, position=1)
    assert foretell(TrialFolder(tmp_path), planned, Silent()) is None
    assert not (tmp_path / frozen.FOLDER).exists()


def test_predictions_are_a_part_of_the_trial() -> None:
    assert frozen.FOLDER in PARTS
    assert frozen.FOLDER in EXPECTED


def test_the_prediction_is_sealed_before_the_engine_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "c-002.json"
    told.write_bytes(b'{"kind": "predicted"}')
    seen: list[bytes] = []

    @contextmanager
    def start(*_: Any, log: Path, **__: Any) -> Iterator[Any]:
        seen.append((log.parent / frozen.SEAL).read_bytes())
        raise EngineError("it does not start", remedy="none")
        yield

    monkeypatch.setattr(measure, "start", start)
    monkeypatch.setattr(measure, "settings_for", lambda *_: None)
    artefact = tmp_path / "weights"
    artefact.write_bytes(b"w")
    cell = measure.measure_cell(
        tmp_path / "cells" / "c" / "002",
        PlannedCell(candidate="c", start=2, position=2),
        TrialCandidate("c", CandidateSpec(engine="llama.cpp"), artefact, "0" * 64, "given"),
        spec=SimpleNamespace(),  # type: ignore[arg-type]
        table=SimpleNamespace(),  # type: ignore[arg-type]
        hardware="here",
        progress=Silent(),
        prediction=told,
    )
    assert seen == [told.read_bytes()]
    assert cell.files[frozen.SEAL] == sha256_file(told)
