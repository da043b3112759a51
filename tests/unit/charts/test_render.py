from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from seatrial.charts import distribution, intervals, over_time, render, spans, steps, svg
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
