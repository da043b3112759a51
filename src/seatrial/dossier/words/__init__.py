"""The dossier's own words in its languages: one JSON file each, the same keys in all.

Only the page's own words are translated. What a stage says (a reason, a log line) stays in the
words it was said in, marked as English; the field's terms (TTFT, TPOT, SLO, P95) stay as engines
and papers spell them.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from seatrial.core.errors import UsageError

LANGUAGES = ("en", "zh")


class Words:
    """A catalogue: ``words("key", n=3)`` is the text with its fields filled in."""

    def __init__(self, lang: str, texts: dict[str, str]) -> None:
        self.lang = lang
        self.texts = texts

    def __call__(self, key: str, /, **fields: Any) -> str:
        """The text under ``key``.

        Raises:
            KeyError: the catalogue lacks it; a test keeps that from happening.
        """
        text = self.texts[key]
        return text.format_map(fields) if fields else text

    def maybe(self, key: str, default: str) -> str:
        """The text under ``key``, or ``default``: for keys that come from a record."""
        return self.texts.get(key, default)


@cache
def words(lang: str) -> Words:
    """The catalogue of one language.

    Raises:
        UsageError: there is none.
    """
    if lang not in LANGUAGES:
        raise UsageError(
            f"there is no dossier in the language {lang!r}",
            where="--lang",
            remedy=f"choose one of: {', '.join(LANGUAGES)}",
        )
    data = files(__name__).joinpath(f"{lang}.json").read_bytes()
    return Words(lang, msgspec.json.decode(data, type=dict[str, str]))
