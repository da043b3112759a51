"""One number per start with its interval: a dot and a whisker, and the limit it must hold.

Starts stand beside each other because they are the repetition: where the whiskers of one start
miss those of the next, the number does not belong to the candidate alone.
"""

from __future__ import annotations

import math
from typing import Any

from seatrial.charts.distribution import numbers_of, series, value_scale
from seatrial.charts.figure import Row
from seatrial.charts.theme import colours, frame, shapes

ROW_PX = 15


def intervals(
    rows: list[Row],
    *,
    candidates: list[str],
    title: str,
    limit: float | None,
    limit_label: str,
    share: bool = False,
) -> dict[str, Any]:
    """Chart of rows {candidate, start, value, low, high}; low and high may be null.

    Args:
        title: of the value axis, with its unit.
        limit: the service level; a line with ``limit_label``.
        share: the value is a share: axis from 0 to 100 %.
    """
    numbers = numbers_of(rows, "value", "low", "high")
    scale = value_scale(numbers if limit is None else [*numbers, limit])
    axis = {"format": ".0%"} if share else {}
    if share:
        lowest = min([*numbers, *([] if limit is None else [limit])], default=0.0)
        scale = {"domain": [max(0.0, math.floor(lowest * 10 - 0.5) / 10), 1]}
    x = {"field": "value", "type": "quantitative", "title": title, "scale": scale, "axis": axis}
    y = {
        "field": "row",
        "type": "nominal",
        "title": None,
        "sort": _order(rows, candidates),
        "axis": {"labelOverlap": False},
    }
    colour = series(candidates)["color"] | {"legend": None}
    shape = {
        "field": "candidate",
        "type": "nominal",
        "scale": {"domain": candidates, "range": shapes(len(candidates))},
        "legend": None,
    }
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
            "encoding": {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
            | {"color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 48, "opacity": 1},
            "encoding": {"y": y, "x": x, "color": colour, "shape": shape},
        },
    ]
    if limit is not None:
        layers += limit_line(limit, limit_label)
    named = [{"calculate": "datum.candidate + ' · ' + datum.start", "as": "row"}]
    return frame(layers, rows, height={"step": ROW_PX}, transform=named)


def _order(rows: list[Row], candidates: list[str]) -> list[str]:
    place = {c: i for i, c in enumerate(candidates)}
    ranked = sorted(rows, key=lambda r: (place.get(str(r["candidate"]), 99), int(str(r["start"]))))
    return [f"{r['candidate']} · {r['start']}" for r in ranked]


def limit_line(limit: float, label: str) -> list[dict[str, Any]]:
    """A vertical line at ``limit`` and its name at the top."""
    rule = {"type": "rule", "color": "var(--chart-slo)", "strokeDash": [4, 3], "strokeWidth": 1.2}
    text = {
        "type": "text",
        "align": "right",
        "baseline": "bottom",
        "dx": 0,
        "dy": -3,
        "color": "var(--chart-slo)",
        "text": label,
        "y": 0,
    }
    at = {"x": {"datum": limit}}
    return [
        {"data": {"values": [{}]}, "mark": rule, "encoding": at},
        {"data": {"values": [{}]}, "mark": text, "encoding": at},
    ]


def spans(
    rows: list[Row],
    *,
    candidates: list[str],
    classes: list[str],
    title: str,
    limit: float | None,
    limit_label: str,
) -> dict[str, Any]:
    """Chart of rows {candidate, class, n, p10, p50, p90, p95}: what a class of requests waits.

    A bar from P10 to P90, a tick at the median and a ring at P95, one row per class and candidate.
    """
    numbers = numbers_of(rows, "p10", "p95")
    scale = value_scale(numbers if limit is None else [*numbers, limit])
    x = {"field": "p10", "type": "quantitative", "title": title, "scale": scale}
    y = {
        "field": "class",
        "type": "nominal",
        "sort": classes,
        "title": None,
    }
    offset = {"field": "candidate", "type": "nominal", "sort": candidates}
    colour = {
        "field": "candidate",
        "type": "nominal",
        "scale": {"domain": candidates, "range": colours(len(candidates))},
    }
    base = {"y": y, "yOffset": offset, "color": colour}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.35},
            "encoding": {**base, "x": x, "x2": {"field": "p90"}},
        },
        {
            "mark": {"type": "tick", "thickness": 2.5, "size": 11},
            "encoding": {**base, "x": {**x, "field": "p50"}},
        },
        {
            "mark": {"type": "point", "filled": False, "size": 44, "strokeWidth": 1.8},
            "encoding": {**base, "x": {**x, "field": "p95"}},
        },
    ]
    if limit is not None:
        layers += limit_line(limit, limit_label)
    step = {"step": max(12, ROW_PX - len(candidates)), "for": "offset"}
    return frame(layers, rows, height=step)
