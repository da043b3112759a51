"""Predicted beside measured, and predicted over a range.

A prediction is hollow and dashed, a measurement is filled: the two cannot be taken for each other.
"""

from __future__ import annotations

from typing import Any

from seatrial.charts.distribution import numbers_of, value_scale
from seatrial.charts.figure import Row
from seatrial.charts.interval import ROW_PX
from seatrial.charts.theme import frame


def foretold(rows: list[Row], *, title: str, names: tuple[str, str]) -> dict[str, Any]:
    """Chart of rows {candidate, start, predicted, low, high, measured}, one metric.

    ``names``: of predicted and measured, for the legend. low, high, measured may be null.
    """
    scale = value_scale(numbers_of(rows, "predicted", "low", "high", "measured"))
    x = {"type": "quantitative", "title": title, "scale": scale}
    y = {
        "field": "row",
        "type": "nominal",
        "title": None,
        "sort": [f"{r['candidate']} · {r['start']}" for r in rows],
        "axis": {"labelOverlap": False},
    }
    domain = {"domain": list(names), "range": ["var(--chart-7)", "var(--chart-ink)"]}
    shapes = {"domain": list(names), "range": ["diamond", "circle"]}
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {
                "type": "rule",
                "strokeWidth": 2,
                "strokeDash": [4, 2],
                "color": "var(--chart-7)",
            },
            "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}},
        }
    ]
    for field, name, filled in (("predicted", names[0], False), ("measured", names[1], True)):
        layers.append(
            {
                "transform": [
                    {"filter": f"isValid(datum.{field})"},
                    {"calculate": repr(name), "as": "kind"},
                ],
                "mark": {"type": "point", "filled": filled, "size": 60, "opacity": 1},
                "encoding": {
                    "y": y,
                    "x": {**x, "field": field},
                    "color": {"field": "kind", "type": "nominal", "scale": domain},
                    "shape": {"field": "kind", "type": "nominal", "scale": shapes},
                },
            }
        )
    named = [{"calculate": "datum.candidate + ' · ' + datum.start", "as": "row"}]
    return frame(layers, rows, height={"step": ROW_PX}, transform=named)


def ranged(
    rows: list[Row], *, metrics: list[str], x_title: str, y_title: str, baseline: float
) -> dict[str, Any]:
    """Chart of rows {value, metric, ratio}: predicted over a range, times the baseline's."""
    x = {
        "field": "value",
        "type": "quantitative",
        "title": x_title,
        "scale": value_scale(numbers_of(rows, "value")),
        "axis": {"grid": False},
    }
    ratios = [*numbers_of(rows, "ratio"), 1.0]
    scale = {"type": "log", "nice": True} if min(ratios) > 0 else {"type": "linear"}
    colours = [f"var(--chart-{i + 1})" for i in range(len(metrics))]
    colour = {
        "field": "metric",
        "type": "nominal",
        "scale": {"domain": metrics, "range": colours},
    }
    y = {
        "field": "ratio",
        "type": "quantitative",
        "title": y_title,
        "scale": scale,
        "axis": {"tickCount": 4, "format": "~g"},
    }
    rule = {"type": "rule", "color": "var(--chart-soft)", "strokeDash": [2, 3]}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "strokeDash": [5, 3], "strokeWidth": 1.8},
            "encoding": {"x": x, "y": y, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": False, "size": 34},
            "encoding": {"x": x, "y": y, "color": colour},
        },
        {"data": {"values": [{}]}, "mark": rule, "encoding": {"x": {"datum": baseline}}},
    ]
    return frame(layers, rows, height=130)


def scattered(rows: list[Row], *, kinds: list[str], x_title: str, y_title: str) -> dict[str, Any]:
    """Chart of rows {fitted, observed, kind}, both axes logarithmic; on the line the law holds."""
    values = [v for v in numbers_of(rows, "fitted", "observed") if v > 0]
    ends = [{"at": min(values)}, {"at": max(values)}]
    scale = {"type": "log", "nice": False}
    colours = [f"var(--chart-{i + 1})" for i in range(len(kinds))]
    shapes = ["circle", "square", "triangle-up"]
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "point", "size": 18, "opacity": 0.6},
            "encoding": {
                "x": {"field": "fitted", "type": "quantitative", "title": x_title, "scale": scale},
                "y": {"field": "observed", "type": "quantitative", "title": y_title,
                      "scale": scale, "axis": {"tickCount": 5}},
                "color": {"field": "kind", "type": "nominal",
                          "scale": {"domain": kinds, "range": colours}},
                "shape": {"field": "kind", "type": "nominal",
                          "scale": {"domain": kinds, "range": shapes[: len(kinds)]}},
            },
        },
        {
            "data": {"values": ends},
            "mark": {"type": "line", "color": "var(--chart-soft)", "strokeDash": [4, 3]},
            "encoding": {
                "x": {"field": "at", "type": "quantitative"},
                "y": {"field": "at", "type": "quantitative"},
            },
        },
    ]  # fmt: skip
    return frame(layers, rows, height=240)
