from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.store.scratch import scratch

HOLDER = """
import sys, time
from pathlib import Path
from seatrial.store.scratch import scratch
with scratch("run", Path(sys.argv[1])) as folder:
    (folder / "spool").write_bytes(b"x")
    print(folder, flush=True)
    time.sleep(float(sys.argv[2]))
"""


def _holder(place: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(place), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_it_ends_with_its_block_also_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), scratch("run", tmp_path) as folder:
        (folder / "inside").mkdir()
        assert folder.parent == tmp_path
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_the_next_process_removes_what_a_killed_one_left_and_nothing_else(tmp_path: Path) -> None:
    own = [tmp_path / "seatrial-results", tmp_path / "other.scratch"]
    for folder in own:
        folder.mkdir()
    (tmp_path / "seatrial-link.scratch").symlink_to(own[0])
    (tmp_path / "seatrial-file.scratch").write_text("x")
    spared = {*tmp_path.iterdir()}
    living, killed = _holder(tmp_path, 60.0), _holder(tmp_path, 60.0)
    try:
        held, left = (Path(p.stdout.readline().strip()) for p in (living, killed) if p.stdout)
        killed.kill()
        killed.wait()
        assert (left / "spool").exists(), "a killed process cannot have cleaned up"
        _holder(tmp_path, 0.0).wait()
        assert {*tmp_path.iterdir()} == {*spared, held}
        assert (held / "spool").exists()
    finally:
        living.kill()
        living.wait()
