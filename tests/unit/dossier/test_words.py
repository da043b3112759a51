from __future__ import annotations

import re
from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.dossier import build
from seatrial.dossier.words import LANGUAGES, words

FIELD = re.compile(r"\{(\w+)\}")


def test_every_language_has_the_same_texts_with_the_same_fields() -> None:
    english = words("en").texts
    for lang in LANGUAGES:
        texts = words(lang).texts
        assert set(texts) == set(english)
        for key, text in texts.items():
            assert set(FIELD.findall(text)) == set(FIELD.findall(english[key])), key


def test_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no dossier in the language"):
        build(tmp_path, lang="xx")


def test_every_text_that_a_page_asks_for_exists(
    made_up: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.charts.render.library", lambda: None)
    for lang in LANGUAGES:
        for trial in made_up.values():
            assert build(trial, lang=lang).html.stat().st_size > 5000
