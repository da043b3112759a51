"""One way to a model: a path, a hub id whose snapshot is here, or a clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.model import place

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "hub" / "models--Qwen--Qwen3-0.6B"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT + "\n")
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return folder


def test_a_path_is_relative_to_the_workload_file(tmp_path: Path) -> None:
    assert place.located("./m", tmp_path) == tmp_path / "m"


def test_a_hub_id_is_found_where_a_download_left_it(cache: Path, tmp_path: Path) -> None:
    found = place.weights("Qwen/Qwen3-0.6B", tmp_path)
    assert found == (cache / "snapshots" / COMMIT).resolve()
    assert place.located("Qwen/Qwen3-0.6B", tmp_path, COMMIT) is not None


@pytest.mark.parametrize("revision", ["v2", "../../etc", "a/../../b", ""])
def test_another_revision_is_not_that_snapshot(cache: Path, tmp_path: Path, revision: str) -> None:
    expected = cache / "snapshots" / COMMIT if revision == "" else None
    assert place.located("Qwen/Qwen3-0.6B", tmp_path, revision) == expected


def test_a_pointer_out_of_the_cache_is_not_followed(cache: Path, tmp_path: Path) -> None:
    (cache / "refs" / "main").write_text("../../../..")
    assert place.located("Qwen/Qwen3-0.6B", tmp_path) is None


def test_an_engine_needs_weights_and_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    with pytest.raises(UsageError) as caught:
        place.weights("Qwen/Qwen3-0.6B", tmp_path)
    assert "not on this machine" in caught.value.what
    assert "hf download Qwen/Qwen3-0.6B" in str(caught.value.remedy)
