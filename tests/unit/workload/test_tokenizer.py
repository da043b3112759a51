"""Texts counted with a tokenizer: exact with one, an estimate without, an error that helps."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from seatrial.cli.main import run
from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.workload.profiling import profile
from seatrial.workload.tokenizer import Tokenizer

WORDS = {
    "version": "1.0",
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
    "padding": None,
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "one": 1}, "unk_token": "[UNK]"},
}


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """A tokenizer of one token a word, told to cut at two."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(WORDS))
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    row = {"timestamp": 1760428221546118, "input": "one two three four", "output": "x",
           "session_id": "s"}  # fmt: skip
    path.write_text(json.dumps(row) + "\n")
    return path


def test_texts_are_counted_whole(words: Path, texts: Path) -> None:
    pytest.importorskip("tokenizers")
    found = profile(texts, count=Tokenizer(words))
    assert found.estimated == []
    assert found.input_tokens is not None
    assert found.input_tokens.sum == 4  # the file says to truncate at 2: not for counting
    assert found.output_tokens is not None
    assert found.output_tokens.sum == 1
    assert any("counted with tokenizer.json" in note for note in found.notes)


def test_the_verb_takes_a_folder(
    words: Path, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tokenizers")
    assert run(["profile", str(texts), "--tokenizer", str(words.parent), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["estimated"] == []
    assert document["input_tokens"]["sum"] == 4


def test_a_tokenizer_that_was_not_needed_is_said(words: Path, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    path = tmp_path / "l.csv"
    path.write_text("timestamp,input_tokens,output_tokens\n0,5,6\n1,7,8\n")
    found = profile(path, count=Tokenizer(words))
    assert any("was not used" in note for note in found.notes)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"\xff\xfe", b'{"model": {"type": "BPE"}}']
)
def test_what_is_no_tokenizer_is_an_error(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be read"):
        Tokenizer(path)


def test_a_lone_surrogate_is_counted(words: Path) -> None:
    pytest.importorskip("tokenizers")
    assert Tokenizer(words)("one \ud800") == 2


def test_no_file_and_no_library(
    words: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no such tokenizer"):
        Tokenizer(tmp_path / "nowhere.json")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(PrerequisiteError) as caught:
        Tokenizer(words)
    assert "pip install 'seatrial[tokenizers]'" in (caught.value.remedy or "")
