"""The decision on a trial's folder, and the verb that makes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seatrial.cli.main import run
from seatrial.core.errors import IntegrityError, PrerequisiteError
from seatrial.decide import decide, decide_folder, read_requests
from seatrial.store import read, write
from seatrial.trial.manifest import Manifest, check_manifest, write_manifest


def test_the_folder_gives_the_same_decision_as_the_records(make_trial: Any, tmp_path: Path) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3}, requests=200)
    from_files = decide_folder(trial.write(tmp_path / "t"))
    direct = decide(**trial.kwargs())
    assert from_files.selected == direct.selected == "a"
    assert from_files.comparisons[-1].delta.best == pytest.approx(
        direct.comparisons[-1].delta.best, rel=1e-6
    )
    assert "cells/a/001/cell.json" in from_files.trace[-1].inputs


def test_facts_that_expire_are_said(make_trial: Any, tmp_path: Path) -> None:
    folder = make_trial({"a": 1.0}, requests=60, starts=2).write(tmp_path / "t")
    facts = [{"id": "x", "expires": "2027-01-02"}, {"id": "y", "expires": "2026-12-14"}]
    write(folder / "facts.json", {"facts": facts, "schema": "s"})
    said = [t.says for t in decide_folder(folder).would_change if t.what == "facts"]
    assert "y on 2026-12-14" in said[0]


def test_requests_read_back(make_trial: Any, tmp_path: Path) -> None:
    trial = make_trial({"a": 1.0}, requests=50, fail={"a": 0.3}, starts=1)
    trial.write(tmp_path / "t")
    found = read_requests(tmp_path / "t" / "cells" / "a" / "001" / "requests.parquet")
    kept = trial.columns["a", 1]
    assert np.isnan(found["ttft_ns"]).sum() == (kept["status"] == "failed").sum() > 0
    done = kept["status"] == "completed"
    assert np.allclose(found["ttft_ns"][done], kept["ttft_ns"][done], atol=2)
    assert np.allclose(found["tpot_ns"][done], kept["tpot_ns"][done], atol=2)


@pytest.mark.parametrize(
    ("factors", "sd", "code"),
    [({"a": 1.0, "b": 1.3}, 0.01, 0), ({"a": 1.0, "b": 1.05}, 0.06, 3), ({"a": 9.0}, 0.01, 1)],
)
def test_verb_exit_codes_and_document(
    make_trial: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    factors: dict[str, float],
    sd: float,
    code: int,
) -> None:
    folder = make_trial(factors, sd=sd, requests=100).write(tmp_path / "t")
    assert run(["decide", str(folder), "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    for key in (
        "schema",
        "outcome",
        "selected",
        "comparison",
        "measured",
        "reasons",
        "would_change",
        "rollback",
        "evidence_request",
    ):
        assert key in document
    assert set(document["rollback"]) >= {"trigger", "previous"}
    assert set(document["measured"][0]) >= {"candidate", "starts", "valid"}
    assert (folder / "decision.json").exists()
    assert run(["decide", str(folder), "--no-write"]) == code
    assert document["outcome"] in capsys.readouterr().out


def test_the_manifest_follows_the_decision(make_trial: Any, tmp_path: Path) -> None:
    folder = make_trial({"a": 1.0}, requests=60, starts=2).write(tmp_path / "t")
    write_manifest(folder, {"decision.json": "not yet"})
    assert run(["decide", str(folder)]) == 0
    check_manifest(folder)
    assert "decision.json" in read(folder / "manifest.json", Manifest).files


def test_a_file_that_was_changed_is_refused(make_trial: Any, tmp_path: Path) -> None:
    folder = make_trial({"a": 1.0}, requests=60, starts=2).write(tmp_path / "t")
    write_manifest(folder, {})
    cell = folder / "cells" / "a" / "001" / "cell.json"
    cell.write_text(cell.read_text().replace('"valid": true', '"valid": false'))
    assert run(["decide", str(folder)]) == 6


def test_a_folder_that_is_no_trial(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError):
        decide_folder(tmp_path)
    assert run(["decide", str(tmp_path)]) == 3


def test_changed_requests_are_refused(make_trial: Any, tmp_path: Path) -> None:
    folder = make_trial({"a": 1.0}, requests=50).write(tmp_path / "t")
    path = folder / "cells" / "a" / "001" / "requests.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(IntegrityError, match="not the file that was measured"):
        decide_folder(folder)


def test_a_trial_without_its_workload_names_what_is_missing(
    make_trial: Any, tmp_path: Path
) -> None:
    folder = make_trial({"a": 1.0}, requests=60, starts=2).write(tmp_path / "t")
    (folder / "workload.resolved.json").unlink()
    with pytest.raises(PrerequisiteError, match=r"workload\.resolved\.json is missing"):
        decide_folder(folder)


@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff"])
def test_a_damaged_gate_beside_the_merged_table_is_noticed(
    make_trial: Any, tmp_path: Path, damage: bytes
) -> None:
    folder = make_trial({"a": 1.0}, requests=60, starts=2).write(tmp_path / "t")
    (folder / "elimination.json").write_bytes((folder / "gate.json").read_bytes())
    decide_folder(folder)
    (folder / "gate.json").write_bytes(damage)
    with pytest.raises(IntegrityError, match="gate"):
        decide_folder(folder)
