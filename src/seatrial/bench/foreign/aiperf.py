"""AIPerf: ``profile_export.jsonl`` (one record a request) and ``profile_export_aiperf.json``."""

from __future__ import annotations

from typing import Any

from seatrial.bench.foreign.evidence import (
    NEVER,
    SCHEMA,
    Evidence,
    Number,
    number,
    of_values,
    text,
    whole,
)

TOOL = "aiperf"
_METRICS = {
    "ttft_ms": ("time_to_first_token", "first content chunk at the socket - request start"),
    "ttst_ms": ("time_to_second_token", "second content chunk - first"),
    "tpot_ms": ("inter_token_latency", "(latency - TTFT) / (output tokens - 1), from start"),
    "e2e_ms": ("request_latency", "last chunk - request start"),
}
_TO_MS = {"ms": 1.0, "s": 1000.0, "sec": 1000.0, "us": 1e-3, "ns": 1e-6}
_STATISTICS = {"mean": "avg", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}


def _ms(entry: Any) -> float | None:
    if not isinstance(entry, dict):
        return None
    value = number(entry.get("value"))
    return None if value is None else value * _TO_MS.get(str(entry.get("unit")), 1.0)


def read_records(rows: list[dict[str, Any]], source: str, sha256: str) -> Evidence:
    """Evidence of the per-record export."""
    values: dict[str, list[float]] = {name: [] for name in _METRICS}
    failed = cancelled = tokens = 0
    starts: list[float] = []
    ends: list[float] = []
    for row in rows:
        about = row.get("metadata") if isinstance(row.get("metadata"), dict) else {}
        assert isinstance(about, dict)
        found = row.get("metrics")
        for key, times in (("request_start_ns", starts), ("request_end_ns", ends)):
            stamp = number(about.get(key))
            if stamp is not None:
                times.append(stamp)
        if about.get("was_cancelled"):
            cancelled += 1
        elif row.get("error") or not isinstance(found, dict):
            failed += 1
        else:
            for ours, (theirs, _) in _METRICS.items():
                got = _ms(found.get(theirs))
                if got is not None:
                    values[ours].append(got)
            length = found.get("output_sequence_length")
            tokens += whole(length.get("value")) or 0 if isinstance(length, dict) else 0
    duration = (max(ends) - min(starts)) / 1e9 if starts and ends else None
    return Evidence(
        schema=SCHEMA,
        tool=TOOL,
        tool_version=None,
        grade="records",
        source=source,
        sha256=sha256,
        model=None,
        requests={
            "offered": len(rows),
            "completed": len(rows) - failed - cancelled,
            "failed": failed,
            "cancelled": cancelled,
        },
        duration_s=duration,
        output_tokens=tokens,
        output_tokens_per_s=tokens / duration if duration else None,
        metrics={
            name: of_values(values[name], "ms", definition)
            for name, (_, definition) in _METRICS.items()
            if values[name]
        },
        load={},
        missing=[*NEVER, "the scheduled time of each request", "the model (see the aggregate)"],
    )


def read_aggregate(value: dict[str, Any], source: str, sha256: str) -> Evidence:
    """Evidence of the aggregate export."""
    metrics = {}
    for ours, (theirs, definition) in _METRICS.items():
        entry = value.get(theirs)
        if isinstance(entry, dict):
            scale = _TO_MS.get(str(entry.get("unit")), 1.0)
            raw = {k: number(entry.get(v)) for k, v in _STATISTICS.items()}
            metrics[ours] = Number(
                unit="ms",
                definition=definition,
                statistics={k: None if v is None else v * scale for k, v in raw.items()},
                n=whole(entry.get("count")),
            )
    completed = whole(_average(value, "request_count"))
    errors = whole(_average(value, "error_request_count"))
    offered = None if completed is None else completed + (errors or 0)
    config = value.get("input_config")
    return Evidence(
        schema=SCHEMA,
        tool=TOOL,
        tool_version=text(value.get("aiperf_version")),
        grade="aggregate",
        source=source,
        sha256=sha256,
        model=None,
        requests={"offered": offered, "completed": completed, "failed": errors, "cancelled": None},
        duration_s=_average(value, "benchmark_duration"),
        output_tokens=whole(_average(value, "total_output_tokens")),
        output_tokens_per_s=_average(value, "output_token_throughput"),
        metrics=metrics,
        load={"loadgen": config.get("loadgen")} if isinstance(config, dict) else {},
        missing=[*NEVER, "values per request (profile_export.jsonl has them)"],
    )


def _average(value: dict[str, Any], name: str) -> float | None:
    entry = value.get(name)
    return number(entry.get("avg")) if isinstance(entry, dict) else number(entry)
