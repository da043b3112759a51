"""The dossier in Chromium with the network off: no request, no complaint, nothing cut off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.dossier import build

pytestmark = pytest.mark.browser

CASES = ("selected", "tie", "undecided", "none_feasible", "regression")
CUT_OFF = """[...document.querySelectorAll('body *')].filter(e =>
  !e.closest('.scroll, pre, details:not([open]), .skip, svg') && e.getClientRects().length &&
  e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + '.' + e.className)"""
CONTRAST = """(() => {
  const lum = c => { const f = c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e)
    .backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255,255,255)'; };
  const bad = [];
  for (const e of document.querySelectorAll('p,li,td,th,dt,dd,summary,a,h1,h2,h3,span')) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    const a = lum(getComputedStyle(e).color), b = lum(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2));
  }
  return [...new Set(bad)];
})()"""


@pytest.fixture(scope="module")
def pages(made_up: dict[str, Path]) -> dict[str, Path]:
    return {case: build(made_up[case]).html for case in CASES}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_opens_offline_without_a_request_or_a_complaint(
    case: str, width: int, dark: bool, chromium: Any, pages: dict[str, Path], pictures: Path
) -> None:
    chromium.open(pages[case].as_uri(), width=width, dark=dark)
    assert chromium.requests() == []
    assert chromium.complaints() == []
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width
    assert chromium.evaluate(CUT_OFF) == []
    assert chromium.evaluate(CONTRAST) == []
    chromium.screenshot(pictures / f"{case}-{width}-{'dark' if dark else 'light'}.png")


def test_the_first_screen_holds_the_answer(chromium: Any, pages: dict[str, Path]) -> None:
    chromium.open(pages["selected"].as_uri(), width=1440)
    bottom = "document.querySelector('.four').getBoundingClientRect().bottom"
    assert chromium.evaluate(bottom) < 900


def test_hostile_names_and_logs_run_nothing(
    tmp_path: Path, chromium: Any, make_trial: Callable[..., Path], pictures: Path
) -> None:
    page = build(make_trial(tmp_path / "t", "selected", hostile=True)).html
    for width in (360, 1440):
        chromium.open(page.as_uri(), width=width)
        assert chromium.requests() == []
        assert chromium.complaints() == []
        assert chromium.evaluate("document.scripts.length") == 2
        assert chromium.evaluate(CUT_OFF) == []
    chromium.screenshot(pictures / "hostile.png")


def test_the_policy_stops_a_foreign_script(chromium: Any, pages: dict[str, Path]) -> None:
    chromium.open(pages["none_feasible"].as_uri())
    planted = (
        "(() => { const s = document.createElement('script'); s.textContent = 'window.evil = 1';"
        " document.body.append(s); return window.evil })()"
    )
    assert chromium.evaluate(planted) is None
    assert any("Content Security Policy" in said for said in chromium.complaints())


def test_the_script_sorts_a_table_and_changes_the_theme(
    chromium: Any, pages: dict[str, Path]
) -> None:
    chromium.open(pages["selected"].as_uri())
    first = "document.querySelector('#cells tbody tr').cells[5].textContent"
    click = "document.querySelector('#cells thead th:nth-child(6) button').click()"
    chromium.evaluate(click)
    low = int(chromium.evaluate(first))
    chromium.evaluate(click)
    assert low < int(chromium.evaluate(first))
    sorted_by = "document.querySelector('#cells th:nth-child(6)').getAttribute('aria-sort')"
    assert chromium.evaluate(sorted_by) == "descending"
    chromium.evaluate("document.getElementById('theme').click()")
    assert chromium.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 21, 26)"


def test_it_prints(chromium: Any, pages: dict[str, Path], pictures: Path) -> None:
    chromium.open(pages["selected"].as_uri(), dark=True)
    chromium.pdf(pictures / "selected.pdf")
    assert (pictures / "selected.pdf").read_bytes().startswith(b"%PDF")
