"""What happens over time: latency over the run, arrivals, telemetry.

Time is cut into bins; a bin shows its median and its P95, never one without the other, because
an average over time hides the minute in which everybody waited.
"""

from __future__ import annotations

from typing import Any

from seatrial.charts.distribution import numbers_of, series, value_scale
from seatrial.charts.figure import Row
from seatrial.charts.theme import frame


def over_time(
    rows: list[Row],
    *,
    candidates: list[str],
    title: str,
    time_title: str,
    limit: float | None,
    marks: list[Row] | None = None,
) -> dict[str, Any]:
    """Chart of rows {candidate, t_s, p50, p95}: P95 as a line, the median as a thin one.

    ``marks`` are {t_s, text}: faults that were set on purpose, drawn as upright lines.
    """
    numbers = numbers_of(rows, "p50", "p95")
    scale = value_scale(numbers if limit is None else [*numbers, limit])
    x = {"field": "t_s", "type": "quantitative", "title": time_title, "axis": {"grid": False}}
    y = {"type": "quantitative", "title": title, "scale": scale, "axis": {"tickCount": 5}}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": {**y, "field": "p95"}, **series(candidates)},
        },
        {
            "mark": {"type": "line", "strokeWidth": 0.9, "opacity": 0.6},
            "encoding": {"x": x, "y": {**y, "field": "p50"}, **series(candidates)},
        },
    ]
    if limit is not None:
        rule = {"type": "rule", "color": "var(--chart-slo)", "strokeDash": [4, 3]}
        layers.append({"data": {"values": [{}]}, "mark": rule, "encoding": {"y": {"datum": limit}}})
    for mark in marks or []:
        layers += _fault(mark)
    return frame(layers, rows, height=180)


def _fault(mark: Row) -> list[dict[str, Any]]:
    rule = {"type": "rule", "color": "var(--chart-fault)", "strokeWidth": 1.2}
    text = {
        "type": "text",
        "align": "left",
        "baseline": "top",
        "dx": 3,
        "color": "var(--chart-fault)",
        "y": 0,
    }
    at = {"x": {"datum": mark["t_s"]}}
    return [
        {"data": {"values": [{}]}, "mark": rule, "encoding": at},
        {"data": {"values": [{}]}, "mark": {**text, "text": str(mark["text"])}, "encoding": at},
    ]


def steps(
    rows: list[Row],
    *,
    x: str,
    x_end: str,
    y: str,
    x_title: str,
    y_title: str,
    log_x: bool = False,
) -> dict[str, Any]:
    """A histogram of one series: rows with the edges ``x`` and ``x_end`` and the count ``y``."""
    scale = {"type": "log", "nice": False} if log_x else {"type": "linear", "nice": False}
    layer = {
        "mark": {"type": "rect", "color": "var(--chart-1)", "opacity": 0.75},
        "encoding": {
            "x": {"field": x, "type": "quantitative", "title": x_title, "scale": scale},
            "x2": {"field": x_end},
            "y": {"field": y, "type": "quantitative", "title": y_title, "axis": {"tickCount": 4}},
            "y2": {"datum": 0},
        },
    }
    return frame([layer], rows, height=110)


def lines(
    rows: list[Row], *, candidates: list[str], y: str, title: str, time_title: str
) -> dict[str, Any]:
    """Chart of rows {candidate, start, t_s, <y>}: one thin line per start."""
    encoding: dict[str, Any] = {
        "x": {"field": "t_s", "type": "quantitative", "title": time_title, "axis": {"grid": False}},
        "y": {"field": y, "type": "quantitative", "title": title, "axis": {"tickCount": 4}},
        "detail": {"field": "start"},
        **series(candidates),
    }
    layer = {"mark": {"type": "line", "strokeWidth": 1.3}, "encoding": encoding}
    return frame([layer], rows, height=140)
