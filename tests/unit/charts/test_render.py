from __future__ import annotations

import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from seatrial.charts import distribution, intervals, over_time, render, spans, steps, svg
from seatrial.charts.render import library, slim
from seatrial.charts.theme import css, narrowed, with_rows, without_rows
from seatrial.core.errors import IntegrityError

NAMES = ["a", '<script>alert("x")</script>', "javascript:alert(1)"]


def specs() -> dict[str, dict[str, Any]]:
    share = [
        {"candidate": c, "start": s, "share": q, "value_ms": 10.0 * q + 1}
        for c in NAMES
        for s in ("1", "all")
        for q in (0.1, 0.5, 0.95)
    ]
    dots = [
        {"candidate": c, "start": s, "value": 3.0 + s, "low": 2.0, "high": None if s else 5.0}
        for c in NAMES
        for s in (0, 1)
    ]
    bins = [
        {"candidate": c, "t_s": t, "p50": t + 1.0, "p95": t + 3.0} for c in NAMES for t in (0, 1)
    ]
    ranges = [
        {"candidate": c, "class": k, "n": 3, "p10": 1.0, "p50": 2.0, "p90": 3.0, "p95": 4.0}
        for c in NAMES
        for k in ("short", "long")
    ]
    hist = [{"from": 1.0, "to": 2.0, "n": 3}, {"from": 2.0, "to": 4.0, "n": 1}]
    return {
        "distribution": distribution(
            share,
            candidates=NAMES,
            title="TTFT, ms",
            share_title="share",
            slo={0.95: 9.0},
            slo_label="SLO",
        ),
        "intervals": intervals(dots, candidates=NAMES, title="ms", limit=4.0, limit_label="SLO 4"),
        "over_time": over_time(
            bins,
            candidates=NAMES,
            title="ms",
            time_title="s",
            limit=2.0,
            marks=[{"t_s": 0.5, "text": "kill </svg>"}],
        ),
        "spans": spans(
            ranges,
            candidates=NAMES,
            classes=["short", "long"],
            title="ms",
            limit=None,
            limit_label="",
        ),
        "steps": steps(hist, x="from", x_end="to", y="n", x_title="x", y_title="n", log_x=True),
    }


@pytest.mark.parametrize("name", sorted(specs()))
def test_every_chart_draws_and_is_a_drawing_only(name: str) -> None:
    spec = specs()[name]
    for form in (spec, narrowed(spec)):
        text = svg(form, name=name)
        assert text is not None
        assert text.count("<svg") == text.count("</svg>") == 1
        assert "<script" not in text
        assert "var(--chart-" in text
        assert render.checked(text) == text


def test_a_narrow_drawing_is_narrow() -> None:
    text = svg(narrowed(specs()["distribution"]), name="n")
    assert text is not None
    width = float(text.split('width="')[1].split('"')[0])
    assert width <= 360


@pytest.mark.parametrize(
    "bad",
    [
        "<svg><script>1</script></svg>",
        '<svg><g onload="x()"/></svg>',
        '<svg><image href="http://x/"/></svg>',
        '<svg><rect fill="url(http://x)"/></svg>',
        "<html></html>",
    ],
)
def test_what_is_no_drawing_is_refused(bad: str) -> None:
    with pytest.raises(IntegrityError):
        render.checked(bad)


def test_without_the_library_there_is_no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "library", lambda: None)
    assert svg(specs()["steps"]) is None


def test_the_same_chart_is_the_same_bytes_in_every_process() -> None:
    program = (
        "from seatrial.charts import steps, svg\n"
        "print(svg(steps([{'a':1,'b':2,'n':3}],x='a',x_end='b',y='n',x_title='x',y_title='y')))"
    )
    found = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(found) == 1


def test_rows_leave_and_come_back() -> None:
    spec = specs()["steps"]
    rows = spec["data"]["values"]
    assert "values" not in without_rows(spec)["data"]
    assert with_rows(without_rows(spec), rows) == spec


def test_every_colour_exists_in_light_and_dark() -> None:
    text = css()
    for i in range(1, 9):
        assert text.count(f"--chart-{i}:") == 4


def effective(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Every leaf with the presentation it really has: its own and what it inherits."""
    found = []

    def walk(node: ElementTree.Element, inherited: dict[str, str]) -> None:
        own = {k: v for k, v in node.attrib.items() if k.startswith(("fill", "stroke", "font"))}
        own |= {k: v for k, v in node.attrib.items() if k == "text-anchor"}
        now = inherited | own
        if not len(node):
            found.append((node.tag, now, node.text or ""))
        for child in node:
            walk(child, now)

    walk(ElementTree.fromstring(text), {})
    return found


def test_a_slim_drawing_is_the_same_drawing() -> None:
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg"><g class="mark-rule a" opacity="0.5">'
        '<line transform="translate(1.26,2)" x2="0" y2="2.55" stroke="red" stroke-width="1"/>'
        '<line transform="translate(3,2)" x2="0" y2="2" stroke="red" stroke-width="2"/></g>'
        '<g class="mark-text b"><text text-anchor="end" fill="blue" opacity="0.2">1.2345</text>'
        '<text text-anchor="end" fill="blue" opacity="0.3">fill="blue" here</text></g>'
        '<g class="mark-line c" fill="none"><path d="M1.26,2L3.999,4" fill="green"/></g></svg>'
    )
    made = slim(text)
    assert effective(made) == effective(text)
    assert len(made) < len(text)
    assert 'opacity="0.2"' in made  # a group's opacity is not inherited, it is multiplied
    assert "1.2345" in made
    assert 'd="M1.2,2L3.9,4"' in made


@pytest.mark.skipif(library() is None, reason="needs the extra charts")
def test_every_kind_of_chart_stays_the_same_when_slim(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"candidate": c, "t_s": t, "p50": t, "p95": 2 * t} for c in "ab" for t in (1.0, 2.0)]
    spec = over_time(
        rows, candidates=["a", "b"], title="TTFT", time_title="s", limit=3.0
    )  # lines, rules, axes, legend
    made = svg(spec)
    monkeypatch.setattr("seatrial.charts.render.slim", lambda text: text)
    whole = svg(spec)
    assert made is not None
    assert whole is not None
    kept = [leaf for leaf in effective(whole) if leaf[0].split("}")[1] in ("text", "line", "rect")]
    assert [leaf for leaf in effective(made) if leaf[0].split("}")[1] != "path"] == kept
    assert len(made) < 0.9 * len(whole)
