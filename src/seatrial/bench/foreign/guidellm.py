"""GuideLLM: ``benchmarks.json``, one evidence per benchmark in it."""

from __future__ import annotations

from typing import Any

from seatrial.bench.foreign.evidence import (
    NEVER,
    SCHEMA,
    Evidence,
    Number,
    number,
    text,
    whole,
)

TOOL = "guidellm"
_METRICS = {
    "ttft_ms": ("time_to_first_token_ms", 1.0, "first content, reasoning or tool delta - send"),
    "itl_ms": ("inter_token_latency_ms", 1.0, "(last - first) / (n - 1) of a request, weighted"),
    "tpot_ms": ("time_per_output_token_ms", 1.0, "(last - start) / n: TTFT is in it"),
    "e2e_ms": ("request_latency", 1000.0, "end - send"),
}


def read(value: dict[str, Any], source: str, sha256: str) -> list[Evidence]:
    """Evidence of every benchmark in a report."""
    about = value.get("metadata")
    version = text(about.get("guidellm_version")) if isinstance(about, dict) else None
    items = value.get("benchmarks")
    return [
        _one(item, source, sha256, version)
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict)
    ]


def _one(item: dict[str, Any], source: str, sha256: str, version: str | None) -> Evidence:
    found = item.get("metrics")
    metrics: dict[str, Any] = found if isinstance(found, dict) else {}
    totals = metrics.get("request_totals") or item.get("request_totals") or {}
    totals = totals if isinstance(totals, dict) else {}
    numbers = {}
    for ours, (theirs, scale, definition) in _METRICS.items():
        entry = _successful(metrics.get(theirs))
        if entry is not None:
            numbers[ours] = _number(entry, scale, definition)
    rate = _successful(metrics.get("output_tokens_per_second"))
    config = item.get("config")
    return Evidence(
        schema=SCHEMA,
        tool=TOOL,
        tool_version=version,
        grade="aggregate",
        source=source,
        sha256=sha256,
        model=None,
        requests={
            "offered": whole(totals.get("total")),
            "completed": whole(totals.get("successful")),
            "failed": whole(totals.get("errored")),
            "cancelled": whole(totals.get("incomplete")),
        },
        duration_s=number(item.get("duration")),
        output_tokens=None,
        output_tokens_per_s=number(rate.get("mean")) if rate else None,
        metrics=numbers,
        load={"strategy": config.get("strategy")} if isinstance(config, dict) else {},
        missing=[
            *NEVER,
            "gaps between tokens (it spreads them evenly over the answer: stalls are lost)",
            "intervals that allow for dependence between requests",
        ],
    )


def _successful(entry: Any) -> dict[str, Any] | None:
    inner = entry.get("successful") if isinstance(entry, dict) else None
    return inner if isinstance(inner, dict) else None


def _number(entry: dict[str, Any], scale: float, definition: str) -> Number:
    points = entry.get("percentiles")
    points = points if isinstance(points, dict) else {}
    raw = {"mean": number(entry.get("mean"))}
    raw |= {name: number(points.get(name)) for name in ("p50", "p90", "p95", "p99")}
    if raw["p50"] is None:
        raw["p50"] = number(entry.get("median"))
    scaled = {k: None if v is None else v * scale for k, v in raw.items()}
    return Number(unit="ms", definition=definition, statistics=scaled, n=whole(entry.get("count")))
