"""``seatrial facts`` and ``seatrial doctor`` as a user types them, on the shipped snapshot."""

from __future__ import annotations

import json

import pytest

from seatrial.cli.main import run


@pytest.fixture(autouse=True)
def own_home(monkeypatch, tmp_path):
    monkeypatch.setenv("SEATRIAL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def say(capsys):
    def call(*tokens):
        code = run(["facts", *tokens])
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


def test_show_json_has_the_contract_s_keys(say):
    code, out, _ = say("show", "vllm==0.33.0", "--subject", "awq", "--json")
    document = json.loads(out)
    assert code == 0
    assert (document["engine"], document["version"]) == ("vllm", "0.33.0")
    assert document["released"] == "2026-11-02"
    fact = next(f for f in document["facts"] if f["predicate"] == "min_capability")
    assert fact["value"] == 75
    for key in ("subject", "predicate", "value", "condition", "layer", "state", "verified_on"):
        assert key in fact
    assert set(fact["source"]) >= {"artefact", "member", "line", "sha256"}


def test_show_an_architecture_that_is_in_no_table(say):
    code, out, _ = say("show", "vllm==0.33.0", "--subject", "NoSuchForCausalLM", "--json")
    [fact] = json.loads(out)["facts"]
    assert code == 0
    assert (fact["value"], fact["state"]) == ("absent", "extracted")


def test_show_says_when_a_version_was_not_read(say):
    code, out, err = say("show", "vllm==0.33.7", "--subject", "awq")
    assert code == 0
    assert "not read; facts of 0.33.0" in out
    assert "facts sync vllm==0.33.7" in err


def test_show_a_method_that_is_gone(say):
    args = ("--subject", "deepspeedfp", "--predicate", "quantization", "--json")
    code, out, _ = say("show", "vllm==0.33.0", *args)
    [fact] = json.loads(out)["facts"]
    assert code == 0
    assert (fact["value"], fact["state"]) == ("absent", "extracted")


def test_show_a_subject_nobody_knows_is_a_no(say):
    assert say("show", "vllm==0.33.0", "--subject", "xyz")[0] == 1
    assert say("show", "tgi", "--subject", "xyz", "--predicate", "kv_connector")[0] == 1


def test_diff_shows_gguf_leaving(say):
    code, out, _ = say("diff", "vllm==0.23.0", "vllm==0.24.0", "--json")
    changes = json.loads(out)["changes"]
    gguf = next(c for c in changes if (c["predicate"], c["subject"]) == ("quantization", "gguf"))
    assert code == 1
    assert gguf["loss"]
    assert "plugin" in gguf["says"]


def test_diff_of_two_engines_is_refused(say):
    code, _, err = say("diff", "vllm==0.23.0", "sglang==0.5.9")
    assert code == 2
    assert "two versions of one engine" in err


def test_when_gguf(say):
    code, out, _ = say("when", "vllm", "gguf", "--offline", "--json")
    turns = json.loads(out)["turns"]
    turn = next(t for t in turns if t["predicate"] == "quantization" and t["layer"] is None)
    assert code == 0
    assert (turn["last"], turn["first"]) == ("0.23.0", "0.24.0")


def test_when_nobody_knows(say):
    assert say("when", "vllm", "nonsense", "--offline")[0] == 1


def test_sync_from_a_folder_and_show_it(say, tmp_path):
    tree = tmp_path / "ollama"
    (tree / "convert").mkdir(parents=True)
    cases = "".join(f'\tcase "Made{i}ForCausalLM":\n' for i in range(20))
    (tree / "convert/convert.go").write_text(
        f'switch p.Architectures[0] {{\n\tcase "LlamaForCausalLM":\n{cases}}}\n'
    )
    code, out, _ = say("sync", "ollama==9.9.9", "--from", str(tree), "--name", "here", "--json")
    [read] = json.loads(out)["read"]
    assert code == 0
    assert read["integrity"] == "tree"
    assert {s["predicate"] for s in read["stale"]} == {
        "route",
        "flag",
        "cuda_targets",
        "kv_cache_dtype",
    }
    code, out, _ = say("show", "ollama==9.9.9", "--subject", "Made3ForCausalLM", "--json")
    [fact] = json.loads(out)["facts"]
    assert (fact["value"], fact["source"]["artefact"]) == ("native", "here")


def test_sync_of_something_else_is_refused(say, tmp_path):
    (tmp_path / "x").mkdir()
    code, _, err = say("sync", "ollama==1.0", "--from", str(tmp_path / "x"))
    assert code == 2
    assert "none of its files is there" in err


def test_sync_of_an_engine_that_is_on_no_index(say):
    code, _, err = say("sync", "ollama")
    assert code == 3
    assert "--from FOLDER" in err
    assert say("sync", "vlm")[0] == 2


def test_export_markdown_has_a_source_for_every_cell(say):
    code, out, _ = say("export", "vllm==0.33.0", "lmdeploy==0.18.0", "--markdown")
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("| LlamaForCausalLM |"))
    assert row.count("native") == 2
    assert row.count("[") == 2
    assert "## Sources" in out


def test_export_json_to_a_file(say, tmp_path):
    code, _, _ = say("export", "tgi", "--out", str(tmp_path / "facts.json"))
    document = json.loads((tmp_path / "facts.json").read_text())
    assert code == 0
    assert document["engines"][0]["engine"] == "tgi"


def test_an_unknown_engine(say):
    code, _, err = say("show", "vlm")
    assert code == 2
    assert "no engine called vlm" in err


def test_doctor(capsys, monkeypatch):
    from seatrial.facts.reach import settings

    made = settings.Settings(indexes=["https://index.invalid"], cafile=None, said_by="a test")
    monkeypatch.setattr(settings, "read_settings", lambda: made)
    code = run(["doctor", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code in (0, 3)
    assert document["host"]["cores"] >= 1
    assert {e["engine"] for e in document["engines"]} >= {"vllm", "llama.cpp", "tgi"}
    assert all(c["verdict"] for c in document["checks"])


def test_what_disagrees_is_shown_with_what_weighs_more(say):
    code, out, err = say("show", "sglang==0.5.23", "--subject", "gptq")
    assert code == 0
    [line] = [x for x in out.splitlines() if " choice " in x]
    assert "contradicted" in line
    assert "sources disagree on quantization gptq: code says absent; cli says choice" in err


def test_facts_by_how_they_stand(say):
    code, out, _ = say("show", "vllm==0.33.0", "--state", "contradicted", "--json")
    document = json.loads(out)
    assert code == 0
    assert {f["standing"] for f in document["facts"]} == {"contradicted"}
    ids = {f["id"] for f in document["facts"]}
    assert all(f["contradicted_by"] and not ids & set(f["contradicted_by"])
               for f in document["facts"])  # fmt: skip
    assert any(ids & set(group[1:]) for group in document["conflicts"])


def test_sync_without_a_network_says_so_and_changes_nothing(say, monkeypatch, tmp_path):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    monkeypatch.delenv("UV_INDEX_URL", raising=False)
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    code, out, err = say("sync", "vllm==0.33.0")
    assert (code, out) == (3, "")
    assert "cannot be read" in err
    assert "the facts at hand are as they were" in err
    assert "Traceback" not in err
    assert not (tmp_path / "home" / "facts").exists()
    assert say("show", "vllm==0.33.0", "--subject", "awq")[0] == 0
