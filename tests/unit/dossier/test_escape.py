from __future__ import annotations

import pytest

from seatrial.dossier.escape import harmless, one_line, visible


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain", "plain"),
        ("中文 naïve עברית", "中文 naïve עברית"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("nul\x00", "nul\\x00"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_is_hidden_is_made_visible(given: str, shown: str) -> None:
    assert visible(given) == shown


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    assert visible("x" * 12, limit=10) == "xxxxxxxxxx… (+2 characters)"


def test_one_line_is_one_line() -> None:
    assert one_line("a\n\x1b[2K b") == "a \\x1b[2K b"


def test_every_string_and_key_of_a_value_is_treated_but_not_our_own_sql() -> None:
    value = {"k\x00": ["\x1b", {"a": "\u202e"}], "sql": "x" * 9000, "n": 1}
    assert harmless(value) == {
        "k\\x00": ["\\x1b", {"a": "\\u202e"}],
        "sql": "x" * 9000,
        "n": 1,
    }
