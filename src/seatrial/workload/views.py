"""Figures of a fingerprint: rows, headings and a drawing each, made of the fingerprint alone.

The same numbers as ``--json`` and as the dossier's; the rows are the figure, the drawing a view.
"""

from __future__ import annotations

from typing import Any

from seatrial.charts import Column, Figure, Row, steps
from seatrial.charts.theme import frame
from seatrial.workload.profile import Concurrency, Fingerprint, LittleConcurrency

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MOST_BARS = 360


def figures(found: Fingerprint) -> list[Figure]:
    """Every figure for which the trace carries the numbers."""
    made = (over_time(found), in_flight(found), hours(found), joint(found), lru(found))
    return [figure for figure in made if figure is not None]


def over_time(found: Fingerprint) -> Figure | None:
    """Requests per minute; several minutes to a bar in a long trace."""
    if found.arrivals is None or not found.arrivals.per_minute:
        return None
    counts = found.arrivals.per_minute
    width = -(-len(counts) // _MOST_BARS)
    rows: list[Row] = [
        {"from_min": i, "to_min": i + width, "requests": sum(counts[i : i + width]) / width}
        for i in range(0, len(counts), width)
    ]
    return Figure(
        id="arrivals",
        title="Arrivals over time",
        says=f"{found.arrivals.rate_per_s:.3g} requests per second on average; the busiest minute "
        f"has {found.arrivals.peak_to_mean_minute:.2f} times the mean.",
        basis="measured",
        columns=[
            Column(key="from_min", title="from", unit="min"),
            Column(key="to_min", title="to", unit="min"),
            Column(key="requests", title="requests per minute"),
        ],
        rows=rows,
        spec=steps(
            rows,
            x="from_min",
            x_end="to_min",
            y="requests",
            x_title="minutes from the first request",
            y_title="requests per minute",
        ),
        sql="",
    )


def in_flight(found: Fingerprint) -> Figure | None:
    """Requests in flight: exact where latency is logged, else by Little's law; it says which."""
    exact, law = found.concurrency, found.concurrency_little
    if exact is not None and exact.per_minute:
        return _flight_figure(exact.per_minute, "exact", _exactly(exact, law))
    if law is not None and law.per_minute:
        says = (
            "By Little's law, because the log has no latencies: arrivals of a minute x the time "
            f"that each takes alone on {law.reference} ({law.stay_s:.3g} s on average), which "
            f"makes {law.mean:.3g} in flight on average. Waiting and batching add to it, hits of "
            "a prefix cache take away."
        )
        return _flight_figure(law.per_minute, "Little's law", says)
    return None


def _exactly(exact: Concurrency, law: LittleConcurrency | None) -> str:
    says = (
        f"Exact, from the latencies in the log: {exact.mean:.3g} requests in flight on average, "
        f"{exact.p99:.0f} at P99 of the time, at most {exact.max}."
    )
    if law is not None and law.basis == "logged_latency":
        says += f" Little's law on the means gives {law.mean:.3g}."
    return says


def _flight_figure(minutes: list[float], basis: str, says: str) -> Figure:
    width = -(-len(minutes) // _MOST_BARS)
    rows: list[Row] = []
    for i in range(0, len(minutes), width):
        part = minutes[i : i + width]
        rows.append({"from_min": i, "to_min": i + width, "in_flight": sum(part) / len(part)})
    return Figure(
        id="concurrency",
        title="Requests in flight",
        says=says,
        basis="measured" if basis == "exact" else "predicted",
        columns=[
            Column(key="from_min", title="from", unit="min"),
            Column(key="to_min", title="to", unit="min"),
            Column(key="in_flight", title=f"in flight ({basis})", unit="requests"),
        ],
        rows=rows,
        spec=steps(
            rows,
            x="from_min",
            x_end="to_min",
            y="in_flight",
            x_title="minutes from the first request",
            y_title=f"in flight ({basis})",
        ),
        sql="",
    )


def hours(found: Fingerprint) -> Figure | None:
    """Requests per hour by hour of the week (UTC)."""
    week = found.arrivals.per_hour_of_week if found.arrivals is not None else None
    if week is None:
        return None
    rows: list[Row] = [
        {"day": _DAYS[i // 24], "hour": i % 24, "requests": value} for i, value in enumerate(week)
    ]
    return Figure(
        id="hours",
        title="Hour of the week",
        says="Requests per hour, UTC, over the time that the trace covers of each hour.",
        basis="measured",
        columns=[
            Column(key="day", title="day"),
            Column(key="hour", title="hour", unit="h UTC"),
            Column(key="requests", title="requests per hour"),
        ],
        rows=rows,
        spec=_heat(
            rows,
            x={"field": "hour", "type": "ordinal", "title": "hour, UTC"},
            y={"field": "day", "type": "ordinal", "sort": list(_DAYS), "title": None},
            value="requests",
            title="requests per hour",
        ),
        sql="",
    )


def joint(found: Fingerprint) -> Figure | None:
    """Input against output length, in powers of two."""
    lengths = found.lengths
    if lengths is None:
        return None
    rows: list[Row] = [
        {
            "input_from": lengths.input_edges[i],
            "output_from": lengths.output_edges[j],
            "requests": count,
        }
        for i, line in enumerate(lengths.counts)
        for j, count in enumerate(line)
        if count
    ]
    pearson = "" if lengths.pearson is None else f" Pearson's correlation is {lengths.pearson:.2f}."
    return Figure(
        id="lengths",
        title="Joint lengths",
        says=f"Requests by input and output tokens; each cell reaches to twice its edge.{pearson}",
        basis="measured",
        columns=[
            Column(key="input_from", title="input from", unit="tokens"),
            Column(key="output_from", title="output from", unit="tokens"),
            Column(key="requests", title="requests"),
        ],
        rows=rows,
        spec=_heat(
            rows,
            x={"field": "input_from", "type": "ordinal", "title": "input tokens, from"},
            y={
                "field": "output_from",
                "type": "ordinal",
                "sort": "descending",
                "title": "output tokens, from",
            },
            value="requests",
            title="requests",
        ),
        sql="",
    )


def lru(found: Fingerprint) -> Figure | None:
    """Token-weighted hit against the size of the cache."""
    reuse = found.prefix
    if reuse is None or not reuse.lru:
        return None
    rows: list[Row] = [
        {
            "blocks": int(capacity),
            "tokens": int(capacity) * reuse.block_tokens,
            "hit": hit,
        }
        for capacity, hit in reuse.lru.items()
    ]
    return Figure(
        id="lru",
        title="Prefix cache of every size",
        says=f"An infinite cache would serve {reuse.token_hit:.1%} of all input tokens; "
        f"{reuse.unique_blocks:,} blocks of {reuse.block_tokens} tokens hold everything.",
        basis="measured",
        columns=[
            Column(key="blocks", title="capacity", unit="blocks"),
            Column(key="tokens", title="capacity", unit="tokens"),
            Column(key="hit", title="token hit"),
        ],
        rows=rows,
        spec=_curve(rows, reuse.token_hit),
        sql="",
    )


def _curve(rows: list[Row], ceiling: float) -> dict[str, Any]:
    x = {
        "field": "tokens",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "title": "cache capacity, tokens",
        "axis": {"format": "~s", "grid": False},
    }
    y = {
        "field": "hit",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"format": ".0%", "tickCount": 5},
        "title": "input tokens served from the cache",
    }
    mark = {"type": "line", "color": "var(--chart-1)", "point": True, "strokeWidth": 2}
    rule = {"type": "rule", "color": "var(--chart-soft)", "strokeDash": [4, 3]}
    return frame(
        [
            {"mark": mark, "encoding": {"x": x, "y": y}},
            {"data": {"values": [{}]}, "mark": rule, "encoding": {"y": {"datum": ceiling}}},
        ],
        rows,
        height=200,
    )


def _heat(
    rows: list[Row], *, x: dict[str, Any], y: dict[str, Any], value: str, title: str
) -> dict[str, Any]:
    """Cells whose opacity is the count: one colour, so that light, dark and print all work."""
    opacity = {
        "field": value,
        "type": "quantitative",
        "scale": {"type": "sqrt", "range": [0.06, 1]},
        "title": title,
        "legend": {"title": title},
    }
    layer = {
        "mark": {"type": "rect", "color": "var(--chart-1)"},
        "encoding": {"x": x, "y": y, "opacity": opacity},
    }
    return frame([layer], rows, height=200)
