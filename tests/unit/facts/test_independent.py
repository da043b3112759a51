"""Questions answered by hand in the primary sources, against what the shipped snapshot says.

Three outcomes: right, open (nothing was read, or the value is computed where it was read), wrong.
An open answer is allowed; a wrong one from an artefact is not.
"""

from pathlib import Path

import pytest
import yaml

from seatrial.facts import load

DATA = Path(__file__).parents[2] / "data" / "facts"
QUESTIONS = [DATA / "independent.yaml", DATA / "held_out.yaml"]


def answer(facts, predicate, subject, layer):
    """The fact that answers, or that the subject is in no table (unresolved if none was read)."""
    found = facts.get(predicate, subject, layer=layer)
    return found or facts.absent(predicate, subject, layer=layer)


def agrees(fact, expected):
    """Whether a fact says what the table says."""
    if isinstance(expected, dict) and "default" in expected:
        return fact.value == expected["default"]
    if isinstance(expected, dict):
        return fact.value == "removed" and fact.detail.get("last_version") == expected["removed"]
    if expected == "yes":
        return fact.value != "absent"
    if expected == "gone":
        return fact.value in ("absent", "plugin", "removed")
    if expected == "absent" and fact.predicate == "architecture":
        return fact.value in ("absent", "fallback")
    if isinstance(expected, list):
        return isinstance(fact.value, list) and sorted(fact.value) == sorted(expected)
    return fact.value == expected


def outcomes(store, paths):
    """Every question with its outcome: right, open or wrong, and the fact."""
    for group in [g for path in paths for g in yaml.safe_load(path.read_text())]:
        facts = store.engine(group["engine"], group["version"])
        for subject, expected in group["answers"].items():
            fact = answer(facts, group["predicate"], str(subject), group.get("layer"))
            known_to_be = expected == "yes" and fact.value != "absent"
            if fact.state == "unresolved" and not known_to_be:
                outcome = "open"
            else:
                outcome = "right" if agrees(fact, expected) else "wrong"
            yield outcome, group, subject, expected, fact


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    store = load(user=tmp_path_factory.mktemp("none"))
    found = list(outcomes(store, QUESTIONS))
    store.close()
    return found


def said(found):
    _, group, subject, expected, fact = found
    return (
        f"{group['engine']}=={group['version']} {group['predicate']} {subject}: "
        f"{expected} in {group['source']}, but {fact.value} ({fact.state})"
    )


def test_several_hundred_questions_over_eight_engines(told):
    engines = {group["engine"] for _, group, *_ in told}
    assert len(told) >= 1000
    assert len(engines) >= 8
    assert len({group["version"] for _, group, *_ in told if group["engine"] == "vllm"}) >= 6


def test_no_extracted_value_is_wrong(told):
    wrong = [
        said(x) for x in told if x[0] == "wrong" and x[4].state in ("extracted", "conditional")
    ]
    assert wrong == []


def test_ninety_eight_per_cent_are_answered_rightly(told):
    right = sum(x[0] == "right" for x in told)
    assert right / len(told) >= 0.98, [said(x) for x in told if x[0] != "right"]
