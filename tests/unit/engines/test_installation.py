"""Installing: nothing half, nothing twice, and honest about what it cannot do."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from seatrial import engines
from seatrial.core.errors import EngineError, IntegrityError, PrerequisiteError, UsageError
from seatrial.engines import installation as module
from seatrial.engines.environment import RECORD, Environment, clean_environ, engines_dir
from seatrial.engines.recipes import Recipe, recipe_for


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEATRIAL_HOME", str(tmp_path / "home"))


def _recipe(monkeypatch: pytest.MonkeyPatch, steps: list[list[str]], check: str = "pass") -> None:
    made = Recipe(
        engine="toy", folder="toy", version="1", distribution="toy", steps=steps, check=check
    )
    monkeypatch.setattr("seatrial.engines.installation.recipe_for", lambda _: made)


def test_an_environment_is_made_recorded_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _recipe(monkeypatch, [], "import json, sys; assert sys.prefix != sys.base_prefix")
    made = engines.install("toy")
    assert engines.installed() == {"toy": ["1"]}
    assert made.size_bytes > 0
    assert made.python.exists()
    monkeypatch.setattr(module, "_run", lambda *_: pytest.fail("the second call did something"))
    assert engines.install("toy") == made
    assert engines.remove("toy", "1")
    assert engines.installed() == {}


def test_a_failed_check_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _recipe(monkeypatch, [], "raise SystemExit('broken wheel')")
    with pytest.raises(EngineError, match="broken wheel"):
        engines.install("toy")
    assert list(engines_dir().glob("toy*")) == []


def test_what_an_interruption_left_does_not_count_and_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = engines_dir() / "toy-1" / "half"
    left.mkdir(parents=True)
    assert engines.installed() == {}
    _recipe(monkeypatch, [])
    engines.install("toy")
    assert not left.exists()


@pytest.mark.slow
def test_a_version_that_does_not_exist_is_a_prerequisite(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nowhere = ["--no-index", "--find-links", str(tmp_path), "no-such-engine==1"]
    _recipe(monkeypatch, [nowhere])
    with pytest.raises(PrerequisiteError) as caught:
        engines.install("toy")
    assert caught.value.exit_code == 3
    assert list(engines_dir().glob("toy*")) == []


def test_a_damaged_record_is_named() -> None:
    folder = engines_dir() / "toy-1"
    folder.mkdir(parents=True)
    (folder / RECORD).write_text("{}")
    with pytest.raises(IntegrityError, match="damaged"):
        engines.installed()


@pytest.mark.parametrize("wanted", ["llama.cpp", "llama.cpp==b11549", "llama.cpp==2026.10.11549"])
def test_llama_cpp_is_known_by_its_build(wanted: str) -> None:
    recipe = recipe_for(wanted)
    assert (recipe.version, recipe.distribution) == ("11549", "xllamacpp==2026.10.11549")


@pytest.mark.parametrize("wanted", ["llama.cpp==99", "nothing", "llama.cpp; rm -rf /", "", "vllm"])
def test_what_cannot_be_installed_is_refused(wanted: str) -> None:
    with pytest.raises(UsageError):
        recipe_for(wanted)


def test_packages_carry_the_hash_pip_reports() -> None:
    report = {
        "install": [
            {
                "metadata": {"name": "x", "version": "1"},
                "download_info": {"archive_info": {"hashes": {"sha256": "ab"}}},
            },
            {"metadata": {"name": "y", "version": "2"}, "download_info": {"dir_info": {}}},
        ]
    }
    assert [p.sha256 for p in module._packages(report)] == ["ab", None]


def test_two_pythons_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    assert "PYTHONPATH" not in clean_environ()
    assert clean_environ({"A": "1"})["A"] == "1"


def test_records_survive_a_round_trip() -> None:
    one = Environment(engine="x", version="1", kind="binary", program="/bin/x")
    assert msgspec.json.decode(msgspec.json.encode(one), type=Environment) == one
