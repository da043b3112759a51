"""The service levels of the workload, as limits that a figure can draw."""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.workload.spec import request_limit

METRICS = ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms")
PER_REQUEST = ("ttft_ms", "tpot_ms", "e2e_ms")


class Slo(msgspec.Struct, frozen=True, kw_only=True):
    """Limits: metric -> percentile name -> ms; the others as in the workload file."""

    latency: dict[str, dict[str, float]]
    goodput: float | None
    error_rate: float | None
    output_tokens_per_s: float | None
    deadline_s: float | None

    def shares(self, metric: str) -> dict[float, float]:
        """Share of requests -> limit in ms, of those that are percentiles."""
        limits = self.latency.get(metric, {})
        return {quantile(name): limit for name, limit in limits.items() if name[0] == "p"}

    def leading(self, metric: str) -> tuple[str, float | None]:
        """The percentile to show per start, and its limit: the highest one asked for, else P95."""
        limits = {n: v for n, v in self.latency.get(metric, {}).items() if n[0] == "p"}
        if not limits:
            return "p95", None
        name = max(limits, key=quantile)
        return name, limits[name]

    def per_request(self) -> dict[str, float]:
        """Metric -> the limit one request must meet to count as good (``request_limit``)."""
        limits = {metric: request_limit(self.latency.get(metric)) for metric in PER_REQUEST}
        return {metric: limit for metric, limit in limits.items() if limit is not None}


def quantile(name: str) -> float:
    """0.95 of ``p95``, 0.999 of ``p999``."""
    return float(f"0.{name[1:]}")


def slo_of(workload: dict[str, Any]) -> Slo:
    """The limits in a resolved workload file; what is not a number is not a limit."""
    stated = workload.get("slo") or {}
    latency = {
        metric: {name: float(limit) for name, limit in limits.items() if _number(limit)}
        for metric in METRICS
        if isinstance(limits := stated.get(metric), dict)
    }
    return Slo(
        latency=latency,
        goodput=_float(stated.get("goodput")),
        error_rate=_float(stated.get("error_rate")),
        output_tokens_per_s=_float(stated.get("output_tokens_per_s")),
        deadline_s=_float(stated.get("deadline_s")),
    )


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and _number(value) else None


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
