"""Registries of releases without a full reading: exact, inferred, absent, not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial import facts
from seatrial.facts import history


@pytest.fixture(scope="module")
def shipped() -> facts.FactStore:
    return facts.load(user=Path("/nonexistent"))


def test_a_release_that_was_read_is_answered_by_its_own_artefact(shipped: facts.FactStore) -> None:
    found = shipped.engine("vllm", "0.6.2").get("architecture", "MllamaForConditionalGeneration")
    assert found is not None
    assert found.value == "native"
    assert found.detail["supports"] == []
    assert "inferred" not in found.detail
    assert "vllm-0.6.2" in found.source.artefact
    assert shipped.resolve(found.id) == found


def test_between_two_readings_that_agree_it_is_inferred_and_says_so(
    shipped: facts.FactStore,
) -> None:
    found = shipped.engine("vllm", "0.16.0rc1").get("architecture", "Step3p5ForCausalLM")
    assert found is not None
    assert found.value == "native"
    assert found.detail["inferred"].startswith("so in 0.15.1 and in 0.16.0")


def test_what_only_one_side_has_is_not_known(shipped: facts.FactStore) -> None:
    known = shipped.engine("vllm", "0.6.2rc1")
    assert known.past is not None
    name = "MllamaForConditionalGeneration"  # came in 0.6.2
    assert known.get("architecture", name) is None
    assert known.past.lacks("architecture", [name], None) is None


def test_absence_names_the_readings_it_rests_on(shipped: facts.FactStore) -> None:
    own = shipped.engine("vllm", "0.5.5").past
    between = shipped.engine("vllm", "0.5.5.post7").past
    before = shipped.engine("vllm", "0.1.0").past
    assert own
    assert between
    assert before
    name = ["MllamaForConditionalGeneration"]
    assert own.lacks("architecture", name, None) == "read in the artefact of 0.5.5"
    assert "0.5.5 nor 0.6.0" in (between.lacks("architecture", name, None) or "")
    assert "0.2.0, the next version read" in (before.lacks("architecture", name, None) or "")


def test_a_version_newer_than_every_reading_is_not_inferred(shipped: facts.FactStore) -> None:
    assert shipped.engine("vllm", "99.0.0").past is None


def test_a_full_reading_is_never_overruled(shipped: facts.FactStore) -> None:
    assert shipped.engine("vllm", "0.33.0").past is None


@pytest.mark.parametrize("engine", ["vllm", "sglang", "lmdeploy", "ollama"])
def test_ranges_lie_within_the_versions_and_do_not_overlap(engine: str) -> None:
    told = history.load(engine)
    assert told is not None
    names = [v[0] for v in told.versions]
    assert names == sorted(names, key=facts.version.key)
    assert len(set(names)) == len(names)
    taken: set[tuple[object, ...]] = set()
    for row in told.rows:
        assert 0 <= row[8] < row[9] <= len(names)
        for place in range(row[8], row[9]):
            cell = (row[0], row[1], row[2], place)
            assert cell not in taken
            taken.add(cell)
