from __future__ import annotations

import io
import json

import pytest

from seatrial.cli.console import Console, TerminalProgress, cells, one_line, plain_table


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_json_prints_exactly_one_document_and_nothing_else() -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console(as_json=True, stdout=out, stderr=err)
    console.title("Gate")
    console.line("a line")
    console.table(["a"], [["1"]])
    console.done(["x.json"])
    console.document({"schema": "x", "value": float("nan")})
    assert json.loads(out.getvalue()) == {"schema": "x", "value": None}


def test_without_json_the_document_is_silent() -> None:
    out = io.StringIO()
    Console(stdout=out, stderr=io.StringIO()).document({"a": 1})
    assert out.getvalue() == ""


def test_a_pipe_gets_aligned_lines_without_escape_codes() -> None:
    out = io.StringIO()
    console = Console(stdout=out, stderr=io.StringIO())
    console.table(["candidate", "verdict"], [["llama.cpp", "feasible"], ["x", None]], right=[0])
    lines = out.getvalue().splitlines()
    assert lines[0] == "candidate  verdict"
    assert lines[2] == "llama.cpp  feasible"
    assert lines[3] == "        x"
    assert "\x1b" not in out.getvalue()


def test_a_terminal_gets_colour_and_no_color_takes_it_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = Tty()
    Console(stdout=out, stderr=io.StringIO()).line("out", style="infeasible")
    assert out.getvalue() == "\x1b[31mout\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Tty()
    Console(stdout=plain, stderr=io.StringIO()).line("out", style="infeasible")
    assert plain.getvalue() == "out\n"


@pytest.mark.parametrize("columns", [20, 30, 59, 80, 200])
def test_a_table_in_a_terminal_fits_its_width(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = Tty()
    console = Console(stdout=out, stderr=io.StringIO())
    console.table(["candidate", "says"], [["llama.cpp-b11549-f16", "a long reason " * 9]])
    if columns >= 60:
        from rich.text import Text

        widths = [cells(Text.from_ansi(line).plain) for line in out.getvalue().splitlines()]
        assert max(widths) <= columns
    else:
        assert out.getvalue().startswith("candidate: llama.cpp-b11549-f16\nsays: ")


def test_hostile_text_cannot_drive_the_terminal() -> None:
    out, err = Tty(), Tty()
    console = Console(stdout=out, stderr=err)
    evil = "a\x1b]0;title\x07\x1b[2J\u202eb\r\x9b31m"
    console.line(evil)
    console.table(["x\x1b[31m", "y"], [[evil, evil]])
    console.note(evil)
    console.progress.step("s\x1b[2J", evil)
    console.progress.amount("s", 1, 2, evil)
    for text in (out.getvalue(), err.getvalue()):
        for bad in ("\x1b]", "\x1b[2J", "\x07", "\u202e", "\x9b"):
            assert bad not in text


def test_progress_in_a_pipe_is_whole_plain_lines_thinned_out() -> None:
    err = io.StringIO()
    progress = TerminalProgress(err, live=False, colour=False)
    progress.step("gate", "9 candidates")
    for i in range(1, 1001):
        progress.amount("bench", i, 1000, "requests")
    lines = err.getvalue().splitlines()
    assert lines[0].split() == ["gate", "9", "candidates"]
    assert len(lines) == 3  # the step, the first amount, the last
    assert "100%" in lines[-1]
    assert "1,000 of 1,000 requests" in lines[-1]


def test_progress_in_a_terminal_redraws_one_line_and_steps_stay() -> None:
    err = Tty()
    progress = TerminalProgress(err, live=True, colour=False)
    progress.amount("bench", 1, 10, "requests")
    progress.step("bench", "next")
    progress.amount("bench", 10, 10, "requests")
    assert "\r\x1b[2K     bench next\n" in err.getvalue()
    assert err.getvalue().endswith("\n")


def test_quiet_and_a_closed_stderr_are_silent_and_never_raise() -> None:
    quiet = io.StringIO()
    Console(stdout=io.StringIO(), stderr=quiet, quiet=True).progress.step("a", "b")
    assert quiet.getvalue() == ""
    progress = TerminalProgress(Closed(), live=True, colour=False)
    progress.step("a", "b")
    progress.amount("a", 1, None, "tokens")


def test_wide_characters_align() -> None:
    text = plain_table(["a", "b"], [["中文", "1"], ["x", "2"]], right=set())
    rows = text.splitlines()
    assert rows[2] == "中文  1"
    assert rows[3] == "x     2"


def test_one_line_keeps_one_line() -> None:
    assert one_line("a\nb\tc\x00") == "a b c\\x00"
