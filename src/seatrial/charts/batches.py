"""A simulated engine over time: what each step computes, who waits, how full the cache is.

Three panels over one time axis, as wide as the time is long, to be scrolled: sequences (decoding,
prompts, waiting on top of each other; a tick where some were preempted), prompt tokens of each
step, KV blocks held against the pool.
"""

from __future__ import annotations

from typing import Any

from seatrial.charts.figure import Row
from seatrial.charts.theme import WIDE, config

SERIES = ("decoding", "prefilling", "waiting")
LONGEST_PX = 6000
PX_PER_ROW = 3


def batches(rows: list[Row], *, pool: int | None, titles: dict[str, str]) -> dict[str, Any]:
    """Chart of rows {t_s, decoding, prefilling, waiting, preempted, prompt_tokens, blocks}.

    A row holds from its ``t_s`` on until the next; the last one ends the picture.

    Args:
        pool: KV blocks in all; None where the engine has no limit.
        titles: under ``time``, ``sequences``, ``tokens``, ``blocks`` and each of ``SERIES``.
    """
    width = min(max(PX_PER_ROW * len(rows), WIDE), LONGEST_PX)
    panels = [
        _panel(_sequences(titles), titles["sequences"], width, 120, x=False),
        _panel([_area("prompt_tokens", "var(--chart-2)")], titles["tokens"], width, 50, x=False),
        _panel(_blocks(pool), titles["blocks"], width, 60, x=True, x_title=titles["time"]),
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        "config": config(),
        "data": {"values": rows},
        "vconcat": panels,
        "spacing": 10,
        "resolve": {"scale": {"color": "independent"}},
    }


def _panel(
    layers: list[dict[str, Any]],
    title: str,
    width: int,
    height: int,
    *,
    x: bool,
    x_title: str = "",
) -> dict[str, Any]:
    axis: dict[str, Any] = {"grid": False, "tickCount": width // 60}
    if not x:
        axis |= {"labels": False, "ticks": False}
    time = {
        "field": "t_s",
        "type": "quantitative",
        "title": x_title or None,
        "axis": axis,
        "scale": {"nice": False},
    }
    y = {
        "type": "quantitative",
        "title": title,
        "axis": {"tickCount": 3, "titleLimit": height * 2, "minExtent": 46},
    }
    own = []
    for layer in layers:
        encoding = dict(layer["encoding"])
        encoding.setdefault("x", time)
        encoding["y"] = {**y, **encoding["y"]}
        own.append({**layer, "encoding": encoding})
    return {"width": width, "height": height, "layer": own}


def _sequences(titles: dict[str, str]) -> list[dict[str, Any]]:
    """The three counts upon each other, each computed from the columns."""
    shown = [titles[name] for name in SERIES]
    colours = {
        "domain": shown,
        "range": ["var(--chart-1)", "var(--chart-2)", "var(--chart-fault)"],
    }
    layers: list[dict[str, Any]] = []
    for i, name in enumerate(SERIES):
        below = " + ".join(f"datum.{n}" for n in SERIES[:i]) or "0"
        layers.append(
            {
                "transform": [
                    {"calculate": below, "as": f"from_{name}"},
                    {"calculate": f"{below} + datum.{name}", "as": f"to_{name}"},
                    {"calculate": repr(titles[name]), "as": "series"},
                ],
                "mark": {"type": "area", "interpolate": "step-after", "opacity": 0.75},
                "encoding": {
                    "y": {"field": f"to_{name}"},
                    "y2": {"field": f"from_{name}"},
                    "color": {"field": "series", "type": "nominal", "scale": colours},
                },
            }
        )
    layers.append(
        {
            "transform": [{"filter": "datum.preempted > 0"}],
            "mark": {"type": "tick", "color": "var(--chart-slo)", "thickness": 2, "size": 12},
            "encoding": {"y": {"datum": 0}},
        }
    )
    return layers


def _blocks(pool: int | None) -> list[dict[str, Any]]:
    layers = [_area("blocks", "var(--chart-3)")]
    if pool is not None:
        layers.append(
            {
                "mark": {"type": "rule", "color": "var(--chart-slo)", "strokeDash": [4, 3]},
                "encoding": {"x": {"value": 0}, "x2": {"value": "width"}, "y": {"datum": pool}},
                "data": {"values": [{}]},
            }
        )
    return layers


def _area(field: str, colour: str) -> dict[str, Any]:
    return {
        "mark": {"type": "area", "interpolate": "step-after", "color": colour, "opacity": 0.75},
        "encoding": {"y": {"field": field}},
    }
