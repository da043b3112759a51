from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from seatrial.dossier import build
from seatrial.dossier.html import policy

CASES = ("selected", "undecided", "none_feasible")
FETCHING = {"src", "srcset", "poster", "data", "background", "ping", "formaction", "action"}
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags, ids, links and the text of a page; complains about tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.stack.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def pages(made_up: dict[str, Path]) -> dict[str, str]:
    return {case: build(made_up[case]).html.read_text() for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_a_page_nests_has_unique_ids_and_fetches_nothing(case: str, pages: dict[str, str]) -> None:
    page = Page(pages[case])
    assert page.stack == []
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        assert tag not in ("img", "iframe", "object", "embed", "form", "video", "audio", "base")
        assert not FETCHING & set(attributes), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
        href = attributes.get("href") or ""
        assert not re.match(r"[a-z]+:", href) or href == "data:,", href
    assert "@import" not in pages[case]
    assert re.findall(r"url\((?!#)", pages[case]) == []


@pytest.mark.parametrize("case", CASES)
def test_the_policy_allows_only_the_page_itself(case: str, pages: dict[str, str]) -> None:
    text = pages[case]
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    content = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert content is not None
    assert content.group(1).replace("&#39;", "'") == policy(script[0])
    assert "default-src 'none'" in content.group(1).replace("&#39;", "'")
    assert "unsafe-inline'; script" in policy(script[0])
    assert "unsafe-eval" not in policy(script[0])


@pytest.mark.parametrize("case", CASES)
def test_the_first_screen_answers_the_four_questions(case: str, pages: dict[str, str]) -> None:
    head = pages[case].split("<nav")[0]
    last = "When to go back" if case == "selected" else "What to do next"
    for question in ("How sure", "What it rests on", last):
        assert question in head
    outcome = {
        "selected": "Selected",
        "undecided": "Undecided",
        "none_feasible": "None feasible",
    }[case]
    assert f'<p class="badge">{outcome}</p>' in head


def test_the_whole_record_is_embedded_and_equal_to_dossier_json(
    pages: dict[str, str], made_up: dict[str, Path]
) -> None:
    for case, kind in (("undecided", "application/gzip"), ("none_feasible", "application/json")):
        island = re.search(
            rf'<script type="{kind}" id="dossier-data">(.*?)</script>', pages[case], re.DOTALL
        )
        assert island is not None
        text = island.group(1)
        data = gzip.decompress(base64.b64decode(text)) if "gzip" in kind else text
        stored = (made_up[case] / "dossier.json").read_bytes()
        assert msgspec.json.decode(data) == msgspec.json.decode(stored)


def test_nothing_needs_a_script_to_be_read(pages: dict[str, str]) -> None:
    text = " ".join(Page(pages["selected"]).text)
    for said in (
        "the wheel holds CUDA code for sm_80 and sm_90 only",
        "quantile_cont(r.ttft_ms, 0.95)",
        "2 days old at the trial",
        "llama.cpp-b11549-q8_0",
        "seatrial run workload.yaml",
        "Not in this trial",
    ):
        assert said in text


def test_hostile_names_and_logs_change_nothing(
    tmp_path: Path, make_trial: Callable[..., Path], evil: str
) -> None:
    dirty = build(make_trial(tmp_path / "dirty", "selected", n=40, hostile=True)).html.read_text()
    assert Page(dirty).stack == []
    count = lambda text: len(re.findall(r"<script\b", text))  # noqa: E731
    assert count(dirty) == 2
    for bad in ("\x1b", "\u202e", "\u202c", "<script>alert", "x" * 3000):
        assert bad not in dirty, repr(bad)
    assert "&lt;script&gt;alert(1)" in dirty
    assert "\\x1b[31m" in dirty
    assert evil[:20] not in dirty


def test_a_candidate_with_a_hostile_name_is_drawn_as_text(
    tmp_path: Path, make_trial: Callable[..., Path]
) -> None:
    trial = make_trial(tmp_path / "t", "regression", n=30)
    evil = '"><img src=x onerror=alert(1)>\u202e'
    for name in trial.rglob("*.json"):
        text = name.read_text().replace(
            "llama.cpp-b11620-f16", msgspec.json.encode(evil)[1:-1].decode()
        )
        name.write_text(text)
    page = Page(build(trial).html.read_text())
    assert page.stack == []
    assert not any(tag == "img" or "onerror" in attributes for tag, attributes in page.tags)


def test_without_the_drawing_library_the_tables_stand_open_with_the_pip_line(
    made_up: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.dossier.html.library", lambda: None)
    monkeypatch.setattr("seatrial.charts.render.library", lambda: None)
    text = build(made_up["regression"]).html.read_text()
    assert "<svg" not in text
    assert "python -m pip install &#39;seatrial[charts]&#39;" in text
    assert "<details open><summary>Numbers and SQL" in text


def test_a_common_dossier_is_under_one_megabyte(pages: dict[str, str]) -> None:
    for case, text in pages.items():
        assert len(text.encode()) < 1_000_000, case
