"""``vllm bench serve`` (one JSON object) and SGLang's ``bench_serving`` (one object a line).

Both are flat: ``mean_ttft_ms``, ``p99_itl_ms``, ... With ``--save-detailed`` vLLM adds lists per
request, which make it evidence of grade ``records``.
"""

from __future__ import annotations

from typing import Any

from seatrial.bench.foreign.evidence import (
    NEVER,
    SCHEMA,
    STATISTICS,
    Evidence,
    Number,
    number,
    of_values,
    text,
    whole,
)

_NAMES = {"p50": ("median", "p50"), "mean": ("mean",), "p90": ("p90",), "p95": ("p95",),
          "p99": ("p99",)}  # fmt: skip
_VLLM = {
    "ttft_ms": ("ttft", "first streamed frame with output - send (0.32 and older: role frame)"),
    "tpot_ms": ("tpot", "(latency - TTFT) / (output_tokens - 1), from send"),
    "itl_ms": ("itl", "gap between stream chunks"),
    "e2e_ms": ("e2el", "last chunk - send"),
}
_SGLANG = {
    "ttft_ms": ("ttft", "first non-empty chunk - send, connection set-up included"),
    "tpot_ms": ("tpot", "(latency - TTFT) / (n - 1), n = requested length without usage"),
    "itl_ms": ("itl", "gap between stream chunks"),
    "e2e_ms": ("e2e_latency", "last chunk - send"),
}
_MISSING = ("latency from the scheduled time", "per-token event times", "receive-queue delay")


def read(value: dict[str, Any], tool: str, source: str, sha256: str) -> Evidence:
    """Evidence of a flat result; ``tool`` is ``vllm bench`` or ``sglang bench``."""
    names = _VLLM if tool == "vllm bench" else _SGLANG
    metrics = {ours: _number(value, *theirs) for ours, theirs in names.items()}
    missing = [*NEVER, *_MISSING]
    ttfts = value.get("ttfts")
    grade = "aggregate"
    if isinstance(ttfts, list) and ttfts:
        grade = "records"
        seconds = [1000.0 * v for v in map(number, ttfts) if v is not None]
        metrics["ttft_ms"] = of_values(seconds, "ms", names["ttft_ms"][1])
    else:
        missing.append("values per request (vllm bench serve --save-detailed has them)")
    if number(value.get("failed")) is None:
        missing.append("failed requests")
    completed, failed = whole(value.get("completed")), whole(value.get("failed"))
    offered = None if completed is None or failed is None else completed + failed
    return Evidence(
        schema=SCHEMA,
        tool=tool,
        tool_version=None,
        grade=grade,
        source=source,
        sha256=sha256,
        model=text(value.get("model_id")) or text(value.get("model")),
        requests={"offered": offered, "completed": completed, "failed": failed, "cancelled": None},
        duration_s=number(value.get("duration")),
        output_tokens=whole(value.get("total_output_tokens")),
        output_tokens_per_s=number(value.get("output_throughput")),
        metrics={name: m for name, m in metrics.items() if m is not None},
        load={k: value.get(k) for k in ("request_rate", "max_concurrency", "burstiness")},
        missing=missing,
    )


def _number(value: dict[str, Any], stem: str, definition: str) -> Number | None:
    found: dict[str, float | None] = dict.fromkeys(STATISTICS)
    for ours, prefixes in _NAMES.items():
        for prefix in prefixes:
            got = number(value.get(f"{prefix}_{stem}_ms"))
            found[ours] = got if found[ours] is None else found[ours]
    if all(v is None for v in found.values()):
        return None
    return Number(
        unit="ms", definition=definition, statistics=found, n=whole(value.get("completed"))
    )
