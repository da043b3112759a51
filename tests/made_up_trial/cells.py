"""Made-up cells: Parquet files and a log as bench writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from seatrial.store import write

from .origin import EVIL
from .summary import cell


def make_cell(
    folder: Path,
    candidate: str,
    start: int,
    *,
    n: int,
    slow: float,
    invalid: bool = False,
    hostile: bool = False,
) -> None:
    """Fill one cell's folder: Parquet, log, cell.json."""
    folder.mkdir(parents=True)
    columns = requests(n, slow, seed=start, candidate=candidate)
    write_requests(folder / "requests.parquet", columns)
    span_s = float(columns["scheduled_ns"][-1]) / 1e9
    peak = write_telemetry(folder / "telemetry.parquet", span_s, slow)
    log = "llama_server: listening\n" + (EVIL + "\n" if hostile else "")
    (folder / "engine.log").write_text(log)
    write(folder / "cell.json", cell(candidate, start, columns, peak, invalid, hostile))


def requests(n: int, slow: float, *, seed: int, candidate: str) -> dict[str, Any]:
    """Columns of requests.parquet, DESIGN 4.4; the same schedule for everybody."""
    fixed = np.random.default_rng(11)
    gaps = fixed.exponential(0.5, n)
    scheduled = (np.cumsum(gaps) * 1e9).astype(np.int64)
    inputs = np.clip(fixed.lognormal(5.2, 0.8, n), 8, 1024).astype(np.int64)
    outputs = np.clip(fixed.lognormal(3.4, 0.6, n), 1, 160).astype(np.int64)
    own = np.random.default_rng([seed, len(candidate), ord(candidate[-2])])
    ttft = slow * (30 + inputs * 0.55) * own.lognormal(0, 0.25, n)
    ttft += slow * 160 * (own.random(n) < 0.15) * own.random(n)
    tpot = slow * 26 * own.lognormal(0, 0.12, n)
    first = scheduled + (ttft * 1e6).astype(np.int64)
    last = first + (tpot * 1e6 * (outputs - 1)).astype(np.int64)
    status = np.where(own.random(n) < 0.004, "failed", "completed")
    return {
        "request_id": np.arange(n),
        "scheduled_ns": scheduled,
        "sent_ns": scheduled + 90_000,
        "first_byte_ns": first - 40_000,
        "first_token_ns": first,
        "last_token_ns": last,
        "done_ns": last + 60_000,
        "input_tokens": inputs,
        "output_tokens": outputs,
        "status": status,
        "http_status": np.where(status == "failed", 503, 200),
    }


def write_requests(path: Path, columns: dict[str, Any]) -> None:
    """Columns to Parquet; a failed request has no token times (null)."""
    con = duckdb.connect()
    failed = columns["status"] == "failed"
    names = []
    for name, values in columns.items():
        con.register(f"v_{name}", {"v": values})
        names.append(name)
    table = {**columns, "bad": failed}
    con.register("t", table)
    never = {"first_byte_ns", "first_token_ns", "last_token_ns"}
    chosen = ", ".join(
        f"CASE WHEN bad THEN NULL ELSE {c} END AS {c}" if c in never else c for c in names
    )
    more = (
        "NULL::BIGINT AS cached_tokens, NULL::BIGINT AS session, NULL::BIGINT AS turn,"
        " input_tokens AS planned_input_tokens, output_tokens AS planned_output_tokens,"
        " true AS usage_given, NULL::VARCHAR AS error, 'length' AS finish_reason,"
        " '' AS findings, CASE WHEN bad THEN []::BIGINT[]"
        " ELSE [first_token_ns, last_token_ns] END AS event_ns"
    )
    con.execute(f"COPY (SELECT {chosen}, {more} FROM t) TO '{path}' (FORMAT parquet)")
    con.close()


def write_telemetry(path: Path, span_s: float, slow: float) -> float:
    """A few samples of memory; returns the largest."""
    t = np.linspace(0, span_s, 40)
    con = duckdb.connect()
    rss = (3.1e8 + 4e6 * np.sin(t / 9)) * slow
    con.register("t", {"t_ns": (t * 1e9).astype(np.int64), "engine_rss_bytes": rss})
    con.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    con.close()
    return float(rss.max())
