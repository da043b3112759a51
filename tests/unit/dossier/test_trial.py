from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.dossier import build, compose, open_trial


def test_a_folder_that_is_no_trial_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a trial"):
        open_trial(tmp_path)
    with pytest.raises(UsageError, match="not a trial"):
        open_trial(tmp_path / "absent")


@pytest.mark.parametrize(
    "name", ["decision.json", "gate.json", "facts.json", "workload.resolved.json", "manifest.json"]
)
@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff\xfe", b""])
def test_a_damaged_file_is_an_error_and_nothing_is_written(
    tmp_path: Path, make_trial: Callable[..., Path], name: str, damage: bytes
) -> None:
    trial = make_trial(tmp_path / "t", "none_feasible")
    (trial / name).write_bytes(damage)
    with pytest.raises(IntegrityError, match=name.split(".")[0]):
        build(trial)
    assert not (trial / "dossier.html").exists()


def test_a_damaged_parquet_file_is_an_error(
    tmp_path: Path, make_trial: Callable[..., Path]
) -> None:
    trial = make_trial(tmp_path / "t", "tie", n=20, starts=1)
    next(trial.glob("cells/*/*/requests.parquet")).write_bytes(b"PAR1 not parquet")
    with pytest.raises(IntegrityError, match="Parquet"):
        build(trial)


def test_what_is_missing_is_not_run_with_the_reason_of_the_manifest(
    tmp_path: Path, make_trial: Callable[..., Path]
) -> None:
    trial = make_trial(tmp_path / "t", "none_feasible")
    (trial / "decision.json").unlink()
    dossier = compose(trial)
    assert dossier.answer.outcome == "not_decided"
    assert dossier.answer.chosen == []
    assert dossier.absent["lifecycle"] == "--skip lifecycle was given"
    assert dossier.absent["cells"] == "its stage has not run"
    assert dossier.figures == []


def test_the_smallest_trial_has_a_dossier(tmp_path: Path) -> None:
    (tmp_path / "workload.yaml").write_text("schema: seatrial/workload/1\n")
    paths = build(tmp_path)
    assert "Not decided yet" in paths.html.read_text()


def test_a_damaged_gate_beside_the_merged_table_is_noticed(
    tmp_path: Path, make_trial: Callable[..., Path]
) -> None:
    trial = make_trial(tmp_path / "t", "none_feasible")
    (trial / "elimination.json").write_bytes((trial / "gate.json").read_bytes())
    (trial / "gate.json").write_bytes(b"{")
    with pytest.raises(IntegrityError, match="gate"):
        open_trial(trial)
