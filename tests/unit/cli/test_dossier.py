from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.cli.main import run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    trial = tmp_path / "t"
    trial.mkdir()
    (trial / "workload.yaml").write_text("schema: seatrial/workload/1\n")
    return trial


def test_it_writes_three_files_and_names_them(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dossier", str(small)]) == 0
    said = capsys.readouterr()
    for suffix in ("html", "md", "json"):
        assert f"written: {small / f'dossier.{suffix}'}" in said.out
        assert (small / f"dossier.{suffix}").is_file()
    assert "not_decided" in said.out


def test_json_is_the_one_document(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dossier", str(small), "--json", "--lang", "zh"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "seatrial/dossier/1"
    assert document["lang"] == "zh"
    assert (small / "dossier.zh.html").is_file()


def test_no_trial_no_language_are_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dossier", str(tmp_path)]) == 2
    assert run(["dossier", str(tmp_path), "--lang", "tlh"]) == 2
    assert "Traceback" not in capsys.readouterr().err
