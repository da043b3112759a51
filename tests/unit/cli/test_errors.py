"""What is printed stays printable: any file name, any terminal's encoding, any server's answer."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from seatrial.cli.console import Console
from seatrial.cli.errors import Spoken, json_text, report
from seatrial.cli.main import run
from seatrial.core.errors import (
    EngineError,
    MeasurementInvalid,
    PrerequisiteError,
    SeatrialError,
    UsageError,
)


def _stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


@pytest.mark.parametrize("as_json", [True, False])
def test_a_file_name_that_is_no_utf8_is_reported(
    as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    error = UsageError("not recognised", where="\udcff.csv", remedy="rename it")
    assert report(error, as_json=as_json) == 2
    text = capsys.readouterr().err
    assert "xff.csv" in text
    if as_json:
        assert json.loads(text)["where"] == "\\xff.csv"


def test_control_characters_above_ascii_are_escaped_in_json() -> None:
    hostile = "a\x9b31m\x7fb\u202ec 盛"
    text = json_text({"a": hostile}, _stream("utf-8"))
    assert json.loads(text) == {"a": hostile}
    assert not set(text) & set("\x9b\x7f\u202e")
    assert "盛" in text


def test_json_for_a_terminal_without_utf8_is_ascii_and_loses_nothing() -> None:
    value = {"a": "é 盛 😀"}
    text = json_text(value, _stream("ascii"))
    assert text.isascii()
    assert json.loads(text) == value


def test_a_document_with_a_file_name_that_is_no_utf8_is_printed() -> None:
    out = io.StringIO()
    Console(as_json=True, stdout=out, stderr=io.StringIO()).document({"file": ["\udcff"]})
    assert json.loads(out.getvalue()) == {"file": ["\\xff"]}


def test_what_a_server_sent_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    report(EngineError("x" * 100_000, remedy="look"), as_json=False)
    assert len(capsys.readouterr().err) < 5000


@pytest.mark.parametrize("flag", [[], ["--json"]])
def test_a_terminal_that_knows_ascii_only_is_no_defect(tmp_path: Path, flag: list[str]) -> None:
    rows = "".join(f"{i * 0.5},{100 + i},{i % 9}\n" for i in range(40))
    trace = tmp_path / "t.csv"
    trace.write_text("arrival,input_tokens,output_tokens\n" + rows)
    done = subprocess.run(
        [sys.executable, "-m", "seatrial", "profile", str(trace), *flag],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_defect(closed: str) -> None:
    line = f"{sys.executable} -m seatrial trace formats {closed}"
    assert subprocess.run(["sh", "-c", line], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("option", ["--requests=-5", "--requests=0", "--minutes=-1"])
def test_a_slice_of_nothing_is_bad_input(option: str, tmp_path: Path) -> None:
    trace, out = tmp_path / "t.csv", tmp_path / "s.csv"
    trace.write_text("arrival,input_tokens,output_tokens\n0,1,1\n1,2,2\n2,2,2\n")
    assert run(["trace", "slice", str(trace), "--out", str(out), option]) == 2
    assert not out.exists()


def test_a_version_of_which_nothing_was_read_is_not_called_a_loss() -> None:
    assert run(["facts", "diff", "vllm==0.32.0", "vllm==abc"]) == 2


def test_no_devices_are_bad_input(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("arrival,input_tokens,output_tokens\n0,1,1\n1,2,2\n")
    assert run(["profile", str(trace), "--gpus", "0"]) == 2


@pytest.mark.parametrize("kind", [PrerequisiteError, EngineError, MeasurementInvalid])
def test_an_end_with_3_4_or_5_prints_one_document_on_stdout(
    kind: type[SeatrialError], repo_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Spoken.document = False
    code = report(kind("it failed", where="here", remedy="mend it"), as_json=True)
    out = capsys.readouterr().out
    document = json.loads(out)
    schema = json.loads((repo_root / "src/seatrial/cli/schema/error-1.json").read_bytes())
    jsonschema.validate(document, schema)
    assert (document["exit_code"], document["what"]) == (code, "it failed")


def test_an_error_after_the_document_adds_no_second_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Spoken.document = False
    Console(as_json=True).document({"schema": "x"})
    report(EngineError("died", remedy="look"), as_json=True)
    assert json.loads(capsys.readouterr().out) == {"schema": "x"}


def test_bad_input_and_plain_output_print_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    Spoken.document = False
    report(UsageError("wrong", remedy="mend it"), as_json=True)
    report(EngineError("died", remedy="look"), as_json=False)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "argv",
    [
        ["decide", "{tmp}"],
        ["bench", "--endpoint", "http://127.0.0.1:9", "--model", "m", "--rate", "1", "--duration",
         "1", "--output-tokens", "1"],
        ["probe", "--endpoint", "http://127.0.0.1:9"],
    ],
)  # fmt: skip
def test_verbs_that_end_with_3_or_4_print_one_document(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run([part.replace("{tmp}", str(tmp_path)) for part in argv] + ["--json"])
    assert code in (3, 4)
    assert json.loads(capsys.readouterr().out)["schema"]
