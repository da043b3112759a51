from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.trial.folder import TrialFolder


def test_a_folder_belongs_to_one_workload(tmp_path: Path) -> None:
    folder = TrialFolder(tmp_path / "t")
    folder.adopt(b"name: a")
    folder.adopt(b"name: a")
    with pytest.raises(UsageError, match="another workload"):
        folder.adopt(b"name: b")
    assert folder.file("workload.yaml").read_bytes() == b"name: a"


def test_a_folder_full_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(UsageError, match="no trial"):
        TrialFolder(tmp_path).adopt(b"name: a")
    assert [p.name for p in tmp_path.iterdir()] == ["diary.txt"]


def test_a_second_run_is_refused_while_the_first_lives_and_not_after_its_death(
    tmp_path: Path,
) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys,time\nfrom pathlib import Path\n"
            "from seatrial.trial.folder import TrialFolder\n"
            "with TrialFolder(Path(sys.argv[1])).locked():\n"
            "    print('held', flush=True)\n    time.sleep(60)",
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(PrerequisiteError, match=str(holder.pid)),
            TrialFolder(tmp_path).locked(),
        ):
            pass
    finally:
        holder.kill()
        holder.wait()
    with TrialFolder(tmp_path).locked():
        pass


def test_a_holder_that_made_nothing_of_a_trial_leaves_nothing(tmp_path: Path) -> None:
    folder = TrialFolder(tmp_path / "trials" / "t")
    with pytest.raises(UsageError, match="no traffic"), folder.locked():
        folder.adopt(b"name: a")
        folder.file("events.jsonl").write_text("{}")
        raise UsageError("no traffic", where="w.yaml", remedy="name one")
    assert list(tmp_path.iterdir()) == []
    with folder.locked():
        folder.adopt(b"name: b, mended")
        folder.file("fingerprint.json").write_text("{}")
    assert folder.file("workload.yaml").read_bytes() == b"name: b, mended"


def test_what_was_there_before_stays(tmp_path: Path) -> None:
    own = tmp_path / "workload.yaml"
    own.write_bytes(b"name: a")
    with pytest.raises(UsageError), TrialFolder(tmp_path).locked():
        TrialFolder(tmp_path).adopt(b"name: b")
    with TrialFolder(tmp_path).locked():
        TrialFolder(tmp_path).adopt(b"name: a")
    assert own.read_bytes() == b"name: a"


def test_only_finished_cells_are_counted(tmp_path: Path) -> None:
    folder = TrialFolder(tmp_path)
    folder.cell("a", 0).mkdir(parents=True)
    (tmp_path / "cells" / "a" / ".001.999999999.tmp").mkdir()
    assert folder.finished_cells() == [tmp_path / "cells" / "a" / "000"]
    assert len(folder.sweep()) == 1
    assert folder.finished_cells() == [tmp_path / "cells" / "a" / "000"]
