"""How a latency is distributed: a line per candidate, never a bar of means.

The empirical distribution over the *offered* requests: one that failed never arrives, so its
line ends below 100 %. Thin lines are single server starts, the repetition that counts; the thick
one is all of them together. A service level is a cross: so much share, within so much time.
"""

from __future__ import annotations

import math
from typing import Any

from seatrial.charts.figure import Row
from seatrial.charts.theme import colours, dashes, frame

ALL = "all"
MANY_STARTS = 12


def distribution(
    rows: list[Row],
    *,
    candidates: list[str],
    title: str,
    share_title: str,
    slo: dict[float, float],
    slo_label: str,
) -> dict[str, Any]:
    """Chart of rows {candidate, start ("all" or a number), share, value_ms}.

    Args:
        candidates: their order fixes their colours, the same in every chart of a dossier.
        slo: share (0.95) -> limit in ms; drawn as dashed lines that cross at the promise.
        slo_label: what those lines are called.
    """
    values = numbers_of(rows, "value_ms")
    scale = value_scale([*values, *slo.values()])
    x = {"field": "value_ms", "type": "quantitative", "title": title, "scale": scale}
    y = {
        "field": "share",
        "type": "quantitative",
        "title": share_title,
        "scale": {"domain": [0, 1]},
        "axis": {"format": ".0%", "tickCount": 5},
    }
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": f"datum.start == '{ALL}'"}],
            "mark": {"type": "line", "strokeWidth": 2.2},
            "encoding": {"x": x, "y": y, **series(candidates)},
        }
    ]
    if len({r["start"] for r in rows}) <= MANY_STARTS:
        layers.append(
            {
                "transform": [{"filter": f"datum.start != '{ALL}'"}],
                "mark": {"type": "line", "strokeWidth": 0.8, "opacity": 0.4},
                "encoding": {"x": x, "y": y, "detail": {"field": "start"}, **series(candidates)},
            }
        )
    layers += [layer for share, limit in slo.items() for layer in _promise(share, limit, slo_label)]
    return frame(layers, rows, height=240)


def series(candidates: list[str]) -> dict[str, Any]:
    """Colour and dash of a candidate, the same in every chart."""
    n = len(candidates)
    colour = {"domain": candidates, "range": colours(n)}
    dash = {"domain": candidates, "range": dashes(n)}
    legend = {"symbolSize": 220}
    return {
        "color": {"field": "candidate", "type": "nominal", "scale": colour, "legend": legend},
        "strokeDash": {"field": "candidate", "type": "nominal", "scale": dash, "legend": legend},
    }


def numbers_of(rows: list[Row], *keys: str) -> list[float]:
    """The finite numbers under ``keys`` in all rows."""
    found = [r.get(k) for r in rows for k in keys]
    return [float(v) for v in found if isinstance(v, int | float) and math.isfinite(v)]


def value_scale(values: list[float]) -> dict[str, Any]:
    """Logarithmic where the values span more than a factor of 20, else linear from zero."""
    positive = [v for v in values if v > 0 and math.isfinite(v)]
    if positive and max(positive) / min(positive) > 20:
        return {"type": "log", "nice": False}
    return {"type": "linear", "zero": True}


def _promise(share: float, limit: float, label: str) -> list[dict[str, Any]]:
    line = {"type": "rule", "color": "var(--chart-slo)", "strokeDash": [4, 3], "strokeWidth": 1.2}
    text = {
        "type": "text",
        "align": "right",
        "baseline": "bottom",
        "dx": -4,
        "color": "var(--chart-slo)",
        "text": f"{label} P{share * 100:g} ≤ {limit:g} ms",
    }
    return [
        {"data": {"values": [{}]}, "mark": line, "encoding": {"x": {"datum": limit}}},
        {"data": {"values": [{}]}, "mark": line, "encoding": {"y": {"datum": share}}},
        {
            "data": {"values": [{}]},
            "mark": text,
            "encoding": {"x": {"datum": limit}, "y": {"datum": 0.03}},
        },
    ]
