from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.core.errors import IntegrityError
from seatrial.trial.manifest import check_manifest, enter_files, write_manifest


def _trial(path: Path) -> Path:
    (path / "cells" / "a" / "000").mkdir(parents=True)
    (path / "workload.yaml").write_text("name: a")
    (path / "cells" / "a" / "000" / "cell.json").write_text("{}")
    (path / "events.jsonl").write_text("")
    (path / ".lock").write_text("1")
    return path


def test_it_hashes_what_is_there_and_says_why_the_rest_is_not(tmp_path: Path) -> None:
    manifest = write_manifest(_trial(tmp_path), {"lifecycle": "not asked for"})
    assert sorted(manifest.files) == ["cells/a/000/cell.json", "workload.yaml"]
    assert manifest.not_run["lifecycle"] == "not asked for"
    assert "cells" not in manifest.not_run
    assert check_manifest(tmp_path) == manifest


@pytest.mark.parametrize("harm", ["change", "remove"])
def test_a_changed_or_missing_file_is_found(tmp_path: Path, harm: str) -> None:
    write_manifest(_trial(tmp_path), {})
    cell = tmp_path / "cells" / "a" / "000" / "cell.json"
    if harm == "change":
        cell.write_text('{"valid":true}')
    else:
        cell.unlink()
    with pytest.raises(IntegrityError, match="cell.json"):
        check_manifest(tmp_path)


def test_files_made_anew_are_entered_and_the_others_stay_as_they_were(tmp_path: Path) -> None:
    before = write_manifest(_trial(tmp_path), {})
    (tmp_path / "cells" / "a" / "000" / "cell.json").write_text("harmed")
    (tmp_path / "dossier.html").write_text("page")
    enter_files(tmp_path, [tmp_path / "dossier.html", tmp_path / "dossier.json"])
    with pytest.raises(IntegrityError, match="cell.json"):
        check_manifest(tmp_path)
    (tmp_path / "cells" / "a" / "000" / "cell.json").write_text("{}")
    assert sorted(check_manifest(tmp_path).files) == sorted([*before.files, "dossier.html"])
    (tmp_path / "dossier.html").write_text("another page")
    with pytest.raises(IntegrityError, match=r"dossier\.html"):
        check_manifest(tmp_path)


def test_without_a_manifest_nothing_is_entered(tmp_path: Path) -> None:
    enter_files(tmp_path, [tmp_path / "dossier.html"])
    assert not (tmp_path / "manifest.json").exists()
