"""Snapshots of the dossiers of made-up trials: what a reader of each outcome is told.

``UPDATE_GOLDEN=1`` writes them anew; look at the difference before it is committed. Their law is
tests/unit/dossier: every figure is recomputed from the Parquet files by the SQL beside it.
"""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import msgspec
import pytest

from seatrial.dossier import Dossier, compose
from seatrial.dossier.html import page
from seatrial.dossier.markdown import markdown

HERE = Path(__file__).parent
SCHEMA = Path("src/seatrial/dossier/schema/dossier-1.json")
CASES = ("selected", "tie", "undecided", "none_feasible", "regression")


class Text(HTMLParser):
    """A page's text, one block a line; drawings, scripts and SQL left out."""

    BLOCKS = frozenset({"p", "h1", "h2", "h3", "li", "tr", "dt", "summary", "figcaption", "pre"})
    SKIPPED = frozenset({"svg", "script", "style", "pre"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines: list[str] = [""]
        self.depth = 0
        self.data = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.data += tag == "table" and ("class", "data") in attrs
        self.depth += tag in self.SKIPPED or (tag == "tr" and self.data > 0)
        if tag in self.BLOCKS:
            self.lines.append(f"<{tag}>")
        elif tag in ("td", "th", "dd"):
            self.lines[-1] += " | "

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in self.SKIPPED or (tag == "tr" and self.data > 0)
        self.data -= tag == "table" and self.data > 0

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.lines[-1] += data

    def text(self) -> str:
        """Lines with something in them, white space squeezed."""
        squeezed = (re.sub(r"\s+", " ", line).strip() for line in self.lines)
        kept = (line for line in squeezed if not re.fullmatch(r"(<\w+>)?( ?\|)*", line))
        return (
            "\n".join(line for line in kept if not re.search(r"^<tr>.*[0-9a-f]{64}$", line)) + "\n"
        )


def check(path: Path, text: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"{path.name} is missing: run with UPDATE_GOLDEN=1 and look at it"
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.usefixtures("fixed_day")
@pytest.mark.parametrize("case", CASES)
def test_the_markdown(case: str, made_up: dict[str, Path]) -> None:
    check(HERE / f"{case}.md", markdown(compose(made_up[case])))


@pytest.mark.usefixtures("fixed_day")
@pytest.mark.parametrize(
    ("case", "lang"), [("undecided", "en"), ("none_feasible", "en"), ("tie", "zh")]
)
def test_the_text_of_the_page(
    case: str, lang: str, made_up: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.charts.render.library", lambda: None)
    html = page(compose(made_up[case], lang=lang))
    check(HERE / f"{case}.{lang}.txt", Text(html).text())


def test_the_published_schema_is_that_of_the_record(repo_root: Path) -> None:
    schema = msgspec.json.schema(Dossier)
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "seatrial/dossier/1",
        **schema,
    }
    text = msgspec.json.format(msgspec.json.encode(schema), indent=1).decode() + "\n"
    check(repo_root / SCHEMA, text)


@pytest.mark.parametrize("case", CASES)
def test_every_document_fits_the_published_schema(
    case: str, made_up: dict[str, Path], repo_root: Path
) -> None:
    schema = msgspec.json.decode((repo_root / SCHEMA).read_bytes())
    document = msgspec.json.decode(msgspec.json.encode(compose(made_up[case])))
    jsonschema.validate(document, schema)
