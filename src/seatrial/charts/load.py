"""Latency against load: how long requests waited, by how many others were in flight.

The median and the P95 of each class of load, never one without the other. A point is a class that
was really visited; the line between two points joins them for the eye and states nothing.
"""

from __future__ import annotations

from typing import Any

from seatrial.charts.distribution import numbers_of, series, value_scale
from seatrial.charts.figure import Row
from seatrial.charts.theme import frame

_AS_LINE = {"symbolSize": 220, "symbolType": "stroke", "symbolStrokeWidth": 2}


def against_load(
    rows: list[Row],
    *,
    candidates: list[str],
    title: str,
    load_title: str,
    limit: float | None,
) -> dict[str, Any]:
    """Chart of rows {candidate, load, p50, p95}: P95 thick with points, the median thin.

    ``load`` may be 0 and may span decades: its axis is symmetric-logarithmic.
    """
    numbers = numbers_of(rows, "p50", "p95")
    scale = value_scale(numbers if limit is None else [*numbers, limit])
    x = {
        "field": "load",
        "type": "quantitative",
        "title": load_title,
        "scale": {"type": "symlog", "constant": 1, "nice": False},
    }
    y = {"type": "quantitative", "title": title, "scale": scale, "axis": {"tickCount": 5}}
    worst = series(candidates)
    # with points on it a line would be a blot in the legend
    worst["color"] = {**worst["color"], "legend": _AS_LINE}
    worst["strokeDash"] = {**worst["strokeDash"], "legend": _AS_LINE}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 34}},
            "encoding": {"x": x, "y": {**y, "field": "p95"}, **worst},
        },
        {
            "mark": {"type": "line", "strokeWidth": 0.9, "opacity": 0.6},
            "encoding": {"x": x, "y": {**y, "field": "p50"}, **series(candidates)},
        },
    ]
    if limit is not None:
        rule = {"type": "rule", "color": "var(--chart-slo)", "strokeDash": [4, 3]}
        layers.append({"data": {"values": [{}]}, "mark": rule, "encoding": {"y": {"datum": limit}}})
    return frame(layers, rows, height=180)
