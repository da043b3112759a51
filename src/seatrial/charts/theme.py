"""Colours and sizes of every chart.

Colours are CSS variables, so that one SVG serves light and dark pages and print; the page that
holds the SVG defines them (``CSS_LIGHT``, ``CSS_DARK``). The series colours are those of Okabe
and Ito (Color Universal Design, 2008), moved in lightness for contrast on each ground; series
differ in dash as well as in colour. Nothing is drawn in colour alone.
"""

from __future__ import annotations

from typing import Any

from seatrial.charts.figure import Row

SERIES = 8
DASHES: tuple[list[int], ...] = (
    [1, 0],
    [7, 3],
    [2, 2],
    [9, 3, 2, 3],
    [4, 4],
    [12, 3],
    [1, 4],
    [6, 2, 1, 2, 1, 2],
)
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "stroke", "wedge")
WIDE = 660
NARROW = 250
TEXT = 13.2
"""Font size in the layout, ``render.MEASURE`` times what is shown (11 px)."""

CSS_LIGHT = {
    "--chart-ink": "#3d4654",
    "--chart-soft": "#6a7482",
    "--chart-grid": "#e3e7ec",
    "--chart-slo": "#b3261e",
    "--chart-fault": "#8a5a00",
    "--chart-1": "#0a5fa8",
    "--chart-2": "#c2571a",
    "--chart-3": "#0b7a5b",
    "--chart-4": "#8e4585",
    "--chart-5": "#8a6d00",
    "--chart-6": "#2b8fbf",
    "--chart-7": "#6b4fbb",
    "--chart-8": "#4d5560",
}
CSS_DARK = {
    "--chart-ink": "#c9d1db",
    "--chart-soft": "#98a3b1",
    "--chart-grid": "#2d343e",
    "--chart-slo": "#ff8a80",
    "--chart-fault": "#e6b450",
    "--chart-1": "#6cb4f5",
    "--chart-2": "#f39a5f",
    "--chart-3": "#4fcfa6",
    "--chart-4": "#dd95d3",
    "--chart-5": "#e3c34a",
    "--chart-6": "#8fd3f4",
    "--chart-7": "#b5a2f5",
    "--chart-8": "#aeb7c3",
}


def colours(count: int) -> list[str]:
    """CSS colours of ``count`` series; they repeat after eight, their dashes too."""
    return [f"var(--chart-{i % SERIES + 1})" for i in range(count)]


def dashes(count: int) -> list[list[int]]:
    """Dash patterns of ``count`` series; the first is solid."""
    return [DASHES[i % SERIES] for i in range(count)]


def shapes(count: int) -> list[str]:
    """Symbols of ``count`` series."""
    return [SHAPES[i % SERIES] for i in range(count)]


def config() -> dict[str, Any]:
    """The Vega-Lite ``config`` that all charts share."""
    text = {"labelColor": "var(--chart-soft)", "titleColor": "var(--chart-ink)"}
    return {
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {
            **text,
            "domainColor": "var(--chart-soft)",
            "tickColor": "var(--chart-soft)",
            "gridColor": "var(--chart-grid)",
            "labelFontSize": TEXT,
            "titleFontSize": TEXT * 1.08,
            "titleFontWeight": "normal",
            "labelLimit": 260,
            "labelOverlap": True,
            "tickCount": 7,
        },
        "legend": {
            **text,
            "orient": "top",
            "direction": "horizontal",
            "labelLimit": 280,
            "labelFontSize": TEXT,
            "symbolStrokeWidth": 2,
            "symbolOpacity": 1,
            "title": None,
        },
        "header": {
            **text,
            "labelFontSize": TEXT,
            "titleFontSize": TEXT,
            "labelLimit": 260,
            "labelAnchor": "start",
        },
        "text": {"color": "var(--chart-ink)", "fontSize": TEXT},
    }


def frame(layers: list[dict[str, Any]], rows: list[Row], **more: Any) -> dict[str, Any]:
    """A layered chart over ``rows`` with this theme, in the wide form."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        "config": config(),
        "data": {"values": rows},
        "width": WIDE,
        "layer": layers,
        **more,
    }


def narrowed(spec: dict[str, Any]) -> dict[str, Any]:
    """The same chart for a screen of 360 px: less wide, shorter names beside the axis."""
    own = dict(spec["config"])
    own["axis"] = {**own["axis"], "tickCount": 4}
    own["axisY"] = {"labelLimit": 130}
    own["legend"] = {**own["legend"], "columns": 1, "labelLimit": NARROW - 40}
    layers = [_short_names(layer) for layer in spec["layer"]]
    return {**spec, "width": NARROW, "config": own, "layer": layers}


def _short_names(layer: dict[str, Any]) -> dict[str, Any]:
    """Names beside the axis lose their beginning, not their end: the end tells them apart."""
    encoding = layer.get("encoding", {})
    y = encoding.get("y", {})
    if y.get("type") != "nominal":
        return layer
    cut = "length(datum.label) > 19 ? '…' + slice(datum.label, -17) : datum.label"
    short = {**y, "axis": {**y.get("axis", {}), "labelExpr": cut}}
    return {**layer, "encoding": {**encoding, "y": short}}


def without_rows(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification with its data named ``rows``: for a document that holds them beside it."""
    return {**spec, "data": {"name": "rows"}}


def with_rows(spec: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """The inverse of ``without_rows``."""
    return {**spec, "data": {"values": rows}}


def css() -> str:
    """The variables as a style sheet: light, dark by preference, and light when printed."""
    light = "".join(f"{k}:{v};" for k, v in CSS_LIGHT.items())
    dark = "".join(f"{k}:{v};" for k, v in CSS_DARK.items())
    return (
        f":root{{{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f":root[data-theme=light]{{{light}}}"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}"
    )
