"""Text from engines, files and logs, made harmless for a page.

HTML escaping is Jinja's; this is about what escaping leaves alone: control characters and ANSI
sequences, invisible characters, and the marks that turn the direction of the text around them.
They are made visible, not dropped, because a hidden one is itself a finding. Letters of
right-to-left scripts stay as they are.
"""

from __future__ import annotations

import unicodedata
from typing import Any

MAX_TEXT = 2_000
OWN = ("sql", "sql_prelude", "candidates_sql")  # written here, never cut
WHOLE = ("deployment",)  # a file cut in half deploys nothing
MAX_FILE = 64_000
_KEEP = "\n\t"
_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str, *, limit: int = MAX_TEXT) -> str:
    """``text`` with every control, format and bidi character written as its code point.

    Longer than ``limit`` characters it is cut, and says by how much.
    """
    cut = len(text) - limit
    if cut > 0:
        text = text[:limit]
    if not text.isascii() or not text.isprintable():
        text = "".join(c if _plain(c) else _code(c) for c in text)
    return f"{text}… (+{cut} characters)" if cut > 0 else text


def _plain(char: str) -> bool:
    return char in _KEEP or unicodedata.category(char) not in _SHOWN


def _code(char: str) -> str:
    value = ord(char)
    return f"\\x{value:02x}" if value < 0x100 else f"\\u{value:04x}"


def one_line(text: str, *, limit: int = 300) -> str:
    """``visible`` on one line: for cells of tables, headings and Markdown."""
    return visible(" ".join(text.split()) if "\x1b" not in text else text, limit=limit).replace(
        "\n", " "
    )


def harmless(value: Any, *, limit: int = MAX_TEXT) -> Any:
    """``visible`` applied to every string and key in a value made of dicts, lists, scalars."""
    if isinstance(value, str):
        return visible(value, limit=limit)
    if isinstance(value, dict):
        return {
            visible(str(k), limit=200): v
            if k in OWN
            else harmless(v, limit=MAX_FILE if k in WHOLE else limit)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [harmless(v, limit=limit) for v in value]
    return value
