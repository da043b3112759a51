"""cell.json of a made-up cell, computed from its requests as bench does."""

from __future__ import annotations

from typing import Any

import numpy as np

from seatrial.bench.cell import SCHEMA as CELL
from seatrial.bench.cell import Cell, ClientReport, Counts, Finding, Summary
from seatrial.stats.percentile import percentile, percentile_interval

from .origin import EVIL, ORIGIN


def cell(
    candidate: str,
    start: int,
    columns: dict[str, Any],
    peak_bytes: float,
    invalid: bool,
    hostile: bool,
) -> Cell:
    """cell.json for these columns."""
    ok = columns["status"] == "completed"
    ttft = (columns["first_token_ns"] - columns["scheduled_ns"])[ok] / 1e6
    steps = columns["output_tokens"][ok] - 1
    span = (columns["last_token_ns"] - columns["first_token_ns"])[ok]
    tpot = span[steps > 0] / steps[steps > 0] / 1e6
    e2e = (columns["last_token_ns"] - columns["scheduled_ns"])[ok] / 1e6
    slow_pace = np.zeros(len(steps), bool)
    slow_pace[steps > 0] = tpot > 45
    n, done = len(ok), int(ok.sum())
    tokens = int(columns["output_tokens"][ok].sum())
    seconds = float((columns["done_ns"].max() - columns["scheduled_ns"].min()) / 1e9)
    finding = Finding(
        id="log-line",
        level="warning",
        says="the log says that flash attention is off",
        evidence=EVIL if hostile else "flash_attn = 0",
    )
    return Cell(
        schema=CELL,
        candidate=candidate,
        start=start,
        valid=not invalid,
        invalid_because=["client lateness p99 41 ms is over its limit 10 ms"] if invalid else [],
        requests=Counts(
            offered=n, completed=done, failed=n - done, cancelled=0, timed_out=0, cut=0, in_flight=0
        ),
        ttft_ms=summary(ttft),
        itl_ms=summary(tpot),
        tpot_ms=summary(tpot),
        e2e_ms=summary(e2e),
        output_tokens=tokens,
        output_tokens_per_s=tokens / seconds,
        duration_s=seconds,
        goodput=int(((ttft <= 900) & ~slow_pace).sum()) / n,
        failure_rate=(n - done) / n,
        resources={"rss_peak_bytes": peak_bytes, "gpu_util": None},
        effective=effective(candidate, hostile),
        client=ClientReport(
            cpu_s=1.4,
            cpu_s_per_million_tokens=9.1,
            lateness_ms={"p99": 41.0 if invalid else 1.2},
            loop_lag_ms={"p99": 0.8},
            cpu_share=0.11,
        ),
        findings=[finding] if start == 1 else [],
        cold_start_s={"process": 0.3, "weights": 0.9, "warmup": 0.2, "first_token": 1.6},
        comparability={"quantization": candidate.rsplit("-", 1)[1], "n_ctx": 8192},
        provenance=ORIGIN,
        files={},
    )


def effective(candidate: str, hostile: bool) -> dict[str, Any]:
    """Settings as the server reports them."""
    return {
        "n_ctx": 8192,
        "total_slots": 4,
        "kv_cache_type": "f16",
        "model_ftype": candidate.rsplit("-", 1)[1].upper(),
        "build": candidate.split("-")[1],
        "chat_template": EVIL if hostile else "{% for message in messages %}…{% endfor %}",
        "sampling": {"temperature": 0.0, "top_k": 1},
    }


def summary(values: Any) -> Summary:
    """A Summary with intervals, as bench makes it."""
    named = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
    found = {k: percentile_interval(values, q) for k, q in named.items()}
    return Summary(
        mean=float(np.mean(values)),
        **{k: percentile(values, q) for k, q in named.items()},
        n=len(values),
        intervals={k: i for k, i in found.items() if i is not None},
    )
