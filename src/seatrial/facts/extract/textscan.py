"""Reading tables out of source that is not Python: C++, Go, Rust, CMake, JSON.

No parser: a few regular expressions over text in which comments were blanked out (their length
kept, so that offsets still give lines). What a pattern cannot see is not claimed; floors in the
extractors catch a table that moved or changed its shape.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from functools import cached_property

_COMMENT = re.compile(
    r'"(?:\\.|[^"\\\n])*"'  # a string: kept
    r"|(?P<line>//[^\n]*)"
    r"|(?P<block>/\*.*?\*/)",
    re.DOTALL,
)


class Text:
    """One file: its text, the same with comments blanked, and line numbers."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.raw = text

    @cached_property
    def code(self) -> str:
        """The text with C-style comments replaced by spaces of the same length."""
        return _COMMENT.sub(_blank, self.raw)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.raw))]

    def line(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect.bisect_right(self._starts, offset)

    def find(self, pattern: str, start: int = 0, stop: int | None = None) -> Iterator[Hit]:
        """Matches in the code between two offsets."""
        end = len(self.code) if stop is None else stop
        for match in re.compile(pattern, re.MULTILINE | re.DOTALL).finditer(self.code, start, end):
            yield Hit(self, match)

    def block(self, opening: str) -> tuple[int, int] | None:
        """Offsets inside the braces that follow the first match of ``opening``."""
        found = re.search(opening, self.code, re.MULTILINE)
        if found is None:
            return None
        begin = self.code.find("{", found.end() - 1)
        if begin < 0:
            return None
        depth = 0
        for match in re.finditer(r'"(?:\\.|[^"\\\n])*"|[{}]', self.code[begin:]):
            if match[0] == "{":
                depth += 1
            elif match[0] == "}":
                depth -= 1
                if depth == 0:
                    return begin + 1, begin + match.start()
        return None


class Hit:
    """One match: groups by index or name, and its line."""

    def __init__(self, text: Text, match: re.Match[str]) -> None:
        self._match = match
        self.start = match.start()
        self.end = match.end()
        self.line = text.line(match.start())
        self._text = text

    def __getitem__(self, group: int | str) -> str:
        return self._match[group] or ""

    def line_of(self, group: int | str) -> int:
        """The line on which a group begins."""
        return self._text.line(self._match.start(group))


def _blank(match: re.Match[str]) -> str:
    if match["line"] is None and match["block"] is None:
        return match[0]
    return "".join(c if c == "\n" else " " for c in match[0])
