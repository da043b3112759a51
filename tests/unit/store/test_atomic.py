from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.store.atomic import remove_leftovers, whole_folder, write_bytes

WRITER = """
import sys
from pathlib import Path
from seatrial.store.atomic import write_bytes, whole_folder
place = Path(sys.argv[1])
if sys.argv[2] == "file":
    write_bytes(place, b"new" * 1000)
else:
    with whole_folder(place) as folder:
        write_bytes(folder / "a", b"1" * 100)
        write_bytes(folder / "b", b"2" * 100)
"""


def _killed_at(point: str, place: Path, what: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", WRITER, str(place), what],
        env={**os.environ, "SEATRIAL_CRASH_AT": point},
        check=False,
    ).returncode


@pytest.mark.parametrize("point", ["half-written", "before-rename", "after-rename"])
def test_a_killed_write_leaves_the_old_file_or_the_new_one(tmp_path: Path, point: str) -> None:
    place = tmp_path / "f"
    place.write_bytes(b"old")
    assert _killed_at(point, place, "file") == -9
    assert place.read_bytes() == (b"new" * 1000 if point == "after-rename" else b"old")


@pytest.mark.parametrize(
    "point", ["half-written:1", "half-written:2", "before-folder-rename", "after-folder-rename"]
)
def test_a_killed_folder_is_there_whole_or_not_at_all(tmp_path: Path, point: str) -> None:
    place = tmp_path / "cell"
    assert _killed_at(point, place, "folder") == -9
    if point == "after-folder-rename":
        assert sorted(p.name for p in place.iterdir()) == ["a", "b"]
    else:
        assert not place.exists()
        assert len(remove_leftovers(tmp_path)) == 1
    assert list(tmp_path.glob(".*")) == []


def test_an_error_inside_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "cell") as folder:
        write_bytes(folder / "a", b"1")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_finished_folders_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "cell").mkdir()
    with pytest.raises(FileExistsError), whole_folder(tmp_path / "cell"):
        pass


def test_a_full_disk_is_an_error_that_says_so_and_keeps_the_old_file(tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_bytes(b"old")
    code = f"""
import resource
from pathlib import Path
from seatrial.core.errors import PrerequisiteError
from seatrial.store.atomic import write_bytes
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_bytes(Path({str(place)!r}), b"x" * 100_000)
except PrerequisiteError as error:
    print(error.exit_code, error.what)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("3 ")
    assert place.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_leftovers_of_a_living_process_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / f".f.{os.getppid()}.tmp"
    mine.write_bytes(b"")
    dead = tmp_path / ".g.999999999.tmp"
    dead.write_bytes(b"")
    assert remove_leftovers(tmp_path) == [dead]
    assert mine.exists()


@pytest.mark.parametrize("place", ["file/x.json", "folder", "/proc/x.json", "n" * 300])
def test_a_place_that_cannot_be_written_to_is_bad_input(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot be written to"):
        write_bytes(tmp_path / place, b"1")
