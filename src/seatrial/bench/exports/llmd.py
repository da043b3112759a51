"""The llm-d benchmark report, version 0.2.1, of one cell.

Aggregates only: the format has no place for intervals, validity or a decision. Those stand in the
``metadata`` that it allows, under ``seatrial``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.bench.cell import Cell, Summary

VERSION = "0.2.1"


def _statistics(summary: Summary, unit: str, scale: float = 1.0) -> dict[str, Any] | None:
    if summary.mean is None:
        return None
    names = {"mean": summary.mean, "p50": summary.p50, "p90": summary.p90, "p95": summary.p95,
             "p99": summary.p99}  # fmt: skip
    return {"units": unit, **{k: v * scale for k, v in names.items() if v is not None}}


def llmd_report(cell: Cell) -> dict[str, Any]:
    """The report as a value; write it as JSON or YAML."""
    n = cell.requests
    latency = {
        "time_to_first_token": _statistics(cell.ttft_ms, "ms"),
        "inter_token_latency": _statistics(cell.itl_ms, "ms/token"),
        "time_per_output_token": _statistics(cell.tpot_ms, "ms/token"),
        "request_latency": _statistics(cell.e2e_ms, "ms"),
    }
    rate = n.completed / cell.duration_s if cell.duration_s else None
    throughput = {
        "output_token_rate": _mean(cell.output_tokens_per_s, "tokens/s"),
        "request_rate": _mean(rate, "queries/s"),
    }
    return {
        "version": VERSION,
        "run": {
            "uid": f"{cell.candidate}-{cell.start}",
            "time": {"end": cell.provenance.created_at, "duration": f"PT{cell.duration_s:.3f}S"},
            "description": f"{cell.candidate}, start {cell.start}",
        },
        "scenario": {
            "stack": [
                {
                    "metadata": {"label": "engine"},
                    "standardized": {
                        "kind": "inference_engine",
                        "tool": cell.candidate,
                        "tool_version": str(cell.effective.get("version") or "unknown"),
                        "model": {"name": str(cell.effective.get("model") or "unknown")},
                    },
                    "native": {"config": cell.effective},
                }
            ],
            "load": {
                "standardized": {"tool": "seatrial", "tool_version": cell.provenance.tool_version},
                "native": {"config": cell.comparability},
            },
        },
        "results": {
            "request_performance": {
                "aggregate": {
                    "requests": {
                        "total": n.offered,
                        "failures": n.failed + n.timed_out + n.cut,
                        "incomplete": n.in_flight + n.cancelled,
                    },
                    "latency": {k: v for k, v in latency.items() if v is not None},
                    "throughput": {k: v for k, v in throughput.items() if v is not None},
                }
            }
        },
        "metadata": {
            "seatrial": {
                "valid": cell.valid,
                "invalid_because": cell.invalid_because,
                "goodput": cell.goodput,
                "client": msgspec.to_builtins(cell.client),
            }
        },
    }


def _mean(value: float | None, unit: str) -> dict[str, Any] | None:
    return None if value is None else {"units": unit, "mean": value}
