from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from seatrial.dossier import compose
from seatrial.dossier.markdown import MAX_CHARACTERS, code, escape, markdown


def test_text_from_outside_is_text() -> None:
    assert escape("# <b> @you *x* [a](b) `c` | ~~d~~") == (
        "\\# \\<b\\> \\@you \\*x\\* \\[a\\](b) \\`c\\` \\| \\~\\~d\\~\\~"
    )
    assert code("a`b|c\nd") == "`a'b\\|c d`"


def test_it_fits_a_pull_request_and_holds_the_answer(made_up: dict[str, Path]) -> None:
    text = markdown(compose(made_up["selected"]))
    assert text.startswith("## Selected: `llama.cpp-b11549-q4_0`")
    assert len(text) < 10_000
    assert "| TTFT P95 |" in text
    assert "`quantization`" in text


def test_a_hostile_trial_stays_within_its_lines(
    tmp_path: Path, make_trial: Callable[..., Path]
) -> None:
    trial = make_trial(tmp_path / "t", "selected", n=30, hostile=True)
    text = markdown(compose(trial))
    assert len(text) <= MAX_CHARACTERS
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\n<script" not in text
    assert "\\<script\\>" in text
