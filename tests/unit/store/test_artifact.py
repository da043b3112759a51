from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from seatrial.core.errors import IntegrityError, PrerequisiteError
from seatrial.core.ids import sha256_file
from seatrial.store import read, write


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    schema: str
    n: int


def test_what_is_written_is_read_back_and_hashed(tmp_path: Path) -> None:
    thing = Thing(schema="seatrial/thing/1", n=3)
    digest = write(tmp_path / "a" / "thing.json", thing)
    assert read(tmp_path / "a" / "thing.json", Thing) == thing
    assert digest == sha256_file(tmp_path / "a" / "thing.json")


@pytest.mark.parametrize("cut", [0, 1, 10, 30])
def test_a_damaged_artifact_is_an_integrity_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "thing.json"
    write(path, Thing(schema="seatrial/thing/1", n=3))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(IntegrityError) as caught:
        read(path, Thing)
    assert caught.value.exit_code == 6
    assert str(path) in str(caught.value)


def test_a_missing_artifact_names_the_stage_to_run(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="thing.json is missing"):
        read(tmp_path / "thing.json", Thing)


def test_an_artifact_of_a_newer_schema_is_refused_and_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    write(path, Thing(schema="seatrial/thing/2", n=3))
    with pytest.raises(IntegrityError, match=r"newer schema \(seatrial/thing/2"):
        read(path, Thing)
