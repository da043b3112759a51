import datetime
import zipfile

import msgspec
import pytest

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.facts.diff import diff
from seatrial.facts.factfile import SCHEMA, ArtefactRef, FactFile, MemberRef, Stale, facts_of, row
from seatrial.facts.store import FactStore
from seatrial.facts.sync import keep, pack
from seatrial.facts.when import search


def made(version, rows, *, engine="vllm", stale=(), day="2026-11-30"):
    return FactFile(
        schema=SCHEMA,
        engine=engine,
        version=version,
        released="2026-01-01",
        verified_on=day,
        extractor="test/1",
        artefacts=[ArtefactRef(name=f"{engine}-{version}.whl", sha256="a" * 64)],
        members=[
            MemberRef(artefact=0, path="a.py", sha256="b" * 64, checked=True),
            MemberRef(artefact=0, path="cli.py", kind="cli"),
            MemberRef(artefact=0, path="x.so", kind="binary"),
        ],
        rows=rows,
        stale=list(stale),
    )


OLD = made(
    "0.23.0",
    {
        "quantization": [row("gguf", "native", 0, 3), row("awq", "native", 0, 4)],
        "min_capability": [row("awq", 75, 0, 9)],
        "architecture": [row("AForCausalLM", "native", 0, 5), row("BForCausalLM", "native", 0, 6)],
        "flag": [row("--a", 16, 1, 1), row("--renamed", None, 1, 2)],
        "cuda_targets": [row("_C", [70, 80], 2, None)],
        "requires": [row("torch", "==1", 0, 1)],
    },
)
NEW = made(
    "0.24.0",
    {
        "quantization": [row("awq", "native", 0, 4), row("awq", "allowed", 0, 8, layer="rocm")],
        "min_capability": [
            row("awq", 80, 0, 9),
            row("awq", 94, 0, 9, "conditional", "on rocm", "rocm"),
        ],
        "architecture": [
            row("AForCausalLM", "native", 0, 5),
            row("BForCausalLM", "removed", 0, 6, detail={"last_version": "0.23.0"}),
        ],
        "flag": [row("--a", 32, 1, 1), row("--new-name", None, 1, 2)],
        "cuda_targets": [row("_C", [75, 80], 2, None)],
        "requires": [row("torch", "==2", 0, 1)],
    },
)


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "snapshot.zip"
    path.write_bytes(pack([NEW, OLD]))
    made = FactStore(path, tmp_path / "user")
    yield made
    made.close()


def test_a_version_resolves_exactly_or_to_the_nearest_older_one(store):
    assert store.versions("vllm") == ["0.23.0", "0.24.0"]
    assert store.newest("vllm") == "0.24.0"
    assert store.engine("vllm").version == "0.24.0"
    assert store.engine("vllm", "0.24").exact
    between = store.engine("vllm", "0.23.5")
    assert (between.resolved, between.exact) == ("0.23.0", False)
    older = store.engine("vllm", "0.1.0")
    assert older.resolved is None
    assert all(f.state == "documented" for f in older.facts)
    with pytest.raises(UsageError, match="no engine called vlm"):
        store.engine("vlm")


def test_the_user_s_own_reading_wins_over_the_snapshot(store, tmp_path):
    keep(made("0.24.0", {"quantization": [row("mine", "native", 0, 1)]}), tmp_path / "user")
    again = FactStore(tmp_path / "snapshot.zip", tmp_path / "user")
    assert again.engine("vllm", "0.24.0").get("quantization", "mine")
    assert again.engine("vllm", "0.24.0").get("quantization", "awq") is None


def test_ids_resolve_and_are_of_the_claim(store):
    facts = store.engine("vllm", "0.24.0")
    for fact in facts.facts:
        assert store.resolve(fact.id) == fact
    assert len({f.id for f in facts.facts}) == len(facts.facts)
    old = store.engine("vllm", "0.23.0").get("min_capability", "awq")
    assert old.id != facts.get("min_capability", "awq").id
    assert store.resolve("vllm==0.24.0/quantization/awq~00000000") is None
    assert store.resolve("nonsense") is None


def test_every_fact_says_where_it_stands(store):
    fact = store.engine("vllm", "0.23.0").get("quantization", "awq")
    assert fact.source.artefact == "vllm-0.23.0.whl"
    assert (fact.source.member, fact.source.line) == ("a.py", 4)
    assert fact.source.integrity == "claimed"
    assert fact.source.member_checked
    assert fact.expires == "2026-12-14"


def test_other_platforms_are_seen_only_when_asked_for(store):
    facts = store.engine("vllm", "0.24.0")
    assert facts.get("min_capability", "awq").value == 80
    assert facts.get("min_capability", "awq", layer="rocm").value == 94
    assert facts.get("quantization", "awq").value == "native"


def test_documented_facts_follow_their_range(store):
    assert store.engine("vllm", "0.23.0").get("weight_format", "gguf").value == "native"
    assert store.engine("vllm", "0.24.0").get("weight_format", "gguf").value == "plugin"
    assert store.engine("vllm", "0.19.1").get("min_capability", "engine").value == 70
    assert store.engine("vllm", "0.20.0").get("min_capability", "engine").value == 75


def test_a_known_method_without_a_read_capability_is_open_not_absent(store):
    """OLD holds gguf in its registry and reads a capability of awq alone."""
    facts = store.engine("vllm", "0.23.0")
    assert facts.absent("min_capability", "gguf").state == "unresolved"
    assert facts.absent("min_capability", "no-such-method").state == "extracted"


def test_absence_is_a_finding_only_where_the_table_was_read(store, tmp_path):
    facts = store.engine("vllm", "0.24.0")
    absent = facts.architecture("T5ForConditionalGeneration")
    assert (absent.value, absent.state) == ("absent", "extracted")
    assert facts.knows("architecture")
    assert not facts.knows("kv_connector")
    stale = made("0.25.0", {}, stale=[Stale(predicate="architecture", why="moved")])
    path = tmp_path / "stale.zip"
    path.write_bytes(pack([stale]))
    unread = FactStore(path, None).engine("vllm", "0.25.0")
    assert unread.architecture("X").state == "unresolved"
    assert not unread.knows("architecture")


def test_conflicts_are_kept_and_shown(store):
    groups = store.engine("vllm", "0.24.0").conflicts()
    assert all(len({msgspec.json.encode(f.value) for f in g}) > 1 for g in groups)


def test_expiry(store):
    day = datetime.date
    old, new = store.engine("vllm", "0.23.0"), store.engine("vllm", "0.24.0")
    assert "newer release is known: 0.24.0" in old.outdated(day(2026, 12, 1))
    assert new.outdated(day(2026, 12, 1)) is None
    assert "14 days" in new.outdated(day(2026, 12, 15))
    assert not new.facts[0].expired(day(2026, 12, 14))


def test_a_damaged_snapshot_is_an_integrity_error(tmp_path):
    path = tmp_path / "snapshot.zip"
    path.write_bytes(b"not a zip")
    with pytest.raises(IntegrityError):
        FactStore(path, None)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vllm/1.0.json", "{}")
    with pytest.raises(IntegrityError):
        FactStore(path, None).engine("vllm", "1.0")


def test_the_same_facts_give_the_same_bytes():
    assert pack([OLD, NEW]) == pack([NEW, OLD])


def test_facts_survive_the_round_trip():
    data = msgspec.json.encode(NEW)
    assert facts_of(msgspec.json.decode(data, type=FactFile)) == facts_of(NEW)


def changes(store):
    found = diff(store.engine("vllm", "0.23.0"), store.engine("vllm", "0.24.0"))
    return {(c.predicate, c.subject, c.layer): c for c in found.changes}


def test_diff_names_what_an_upgrade_takes_away(store):
    found = changes(store)
    assert found["quantization", "gguf", None].loss
    assert found["quantization", "gguf", None].new == "plugin"  # documented since 0.24.0
    assert found["min_capability", "awq", None].says == "75 -> 80"
    assert found["min_capability", "awq", None].loss
    assert found["architecture", "BForCausalLM", None].says == "native -> removed (last in 0.23.0)"
    assert found["flag", "--a", None].loss  # a default that changed
    assert found["flag", "--renamed", None].kind == "gone"
    assert found["cuda_targets", "_C", None].loss
    assert not found["requires", "torch", None].loss
    assert ("architecture", "AForCausalLM", None) not in found


def test_diff_does_not_call_unread_gone(tmp_path):
    stale = made("0.25.0", {}, stale=[Stale(predicate="quantization", why="moved")])
    path = tmp_path / "s.zip"
    path.write_bytes(pack([NEW, stale]))
    store = FactStore(path, None)
    found = diff(store.engine("vllm", "0.24.0"), store.engine("vllm", "0.25.0"))
    assert found.not_read == ["quantization"]
    assert not any(c.predicate == "quantization" for c in found.changes)


class Releases:
    """Facts of ten releases; ``awq`` goes in 0.7; counts what is read."""

    def __init__(self, tmp_path):
        files = [
            made(
                f"0.{n}",
                {"quantization": [row("awq", "native", 0, 1)] if n < 7 else [row("x", "n", 0, 1)]},
                engine="sglang",
            )
            for n in range(1, 11)
        ]
        path = tmp_path / "r.zip"
        path.write_bytes(pack(files))
        self.store = FactStore(path, None)
        self.looked = []

    def look(self, version):
        self.looked.append(version)
        return self.store.engine("sglang", version)


def test_when_halves_the_bracket_and_names_the_release(tmp_path):
    releases = Releases(tmp_path)
    index = [f"0.{n}" for n in range(1, 11)]
    found = search("sglang", "awq", ["0.1", "0.10"], releases.look, index)
    [turn] = [t for t in found.turns if t.predicate == "quantization"]
    assert (turn.last, turn.first, turn.exact) == ("0.6", "0.7", True)
    assert len(releases.looked) <= 2 + 4


def test_when_offline_gives_a_bracket_and_calls_it_one(tmp_path):
    releases = Releases(tmp_path)
    found = search("sglang", "awq", ["0.1", "0.10"], releases.look, [])
    [turn] = [t for t in found.turns if t.predicate == "quantization"]
    assert not turn.exact
    assert "after 0.1 and by 0.10" in turn.says


def test_when_of_something_nobody_knows(tmp_path):
    releases = Releases(tmp_path)
    found = search("sglang", "nothing", ["0.1", "0.10"], releases.look, [])
    assert found.turns == []
    assert found.now == {}
