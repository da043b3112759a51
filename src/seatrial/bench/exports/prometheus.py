"""A cell as Prometheus text: gauges with candidate, start and quantile as labels."""

from __future__ import annotations

from seatrial.bench.cell import Cell


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def prometheus_text(cell: Cell) -> str:
    """One scrape's worth of gauges; what was not measured is absent."""
    labels = f'candidate="{_escaped(cell.candidate)}",start="{cell.start}"'
    lines: list[str] = []

    def gauge(name: str, about: str, values: list[tuple[str, float | None]]) -> None:
        known = [(more, value) for more, value in values if value is not None]
        if known:
            lines.append(f"# HELP seatrial_{name} {about}")
            lines.append(f"# TYPE seatrial_{name} gauge")
            lines.extend(f"seatrial_{name}{{{labels}{more}}} {value!r}" for more, value in known)

    for name, summary in (
        ("ttft", cell.ttft_ms),
        ("itl", cell.itl_ms),
        ("tpot", cell.tpot_ms),
        ("e2e", cell.e2e_ms),
    ):
        points = (("0.5", summary.p50), ("0.9", summary.p90), ("0.95", summary.p95),
                  ("0.99", summary.p99))  # fmt: skip
        values = [(f',quantile="{q}"', _seconds(v)) for q, v in points]
        gauge(f"{name}_seconds", f"{name.upper()} over the completed requests", values)
        gauge(f"{name}_mean_seconds", f"Mean {name.upper()}", [("", _seconds(summary.mean))])
    statuses = ("completed", "failed", "cancelled", "timed_out", "cut", "in_flight")
    gauge(
        "requests",
        "Requests by what became of them",
        [(f',status="{s}"', float(getattr(cell.requests, s))) for s in statuses],
    )
    gauge("output_tokens_per_second", "Output tokens a second", [("", cell.output_tokens_per_s)])
    gauge("goodput_ratio", "Share of requests within every SLO", [("", cell.goodput)])
    gauge("failure_ratio", "Failed, timed out or cut", [("", cell.failure_rate)])
    gauge("valid", "1 if the client was not the bottleneck", [("", float(cell.valid))])
    return "\n".join(lines) + "\n"


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000.0
