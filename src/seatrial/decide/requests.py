"""The requests of one cell as columns, and the numbers that are taken from them.

What a cell says of itself in its summary is for people; the decision goes back to the requests.
Definitions are those of docs/method/metrics.md (TTFT and E2E from the scheduled time, E2E to the
last token). Two readings of a latency are kept apart. Against an SLO every offered request counts,
save those cancelled by plan or in flight when the window ended: one that failed, was cut or timed
out never gave its answer, and is infinitely late. Between candidates the *same* requests are
compared: those that completed in every start of every candidate (failures have already been held
against goodput). ITL is per event, not per request: it is read from the cell's summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seatrial.core.errors import IntegrityError
from seatrial.stats.percentile import QS, percentile
from seatrial.workload.spec import Slo, request_limit

Columns = Mapping[str, NDArray[Any]]
LATENCY_COLUMNS = {"ttft_ms": "ttft_ns", "tpot_ms": "tpot_ns", "e2e_ms": "e2e_ns"}
_QUERY = """
SELECT request_id, status, scheduled_ns, coalesce(output_tokens, 0) AS output_tokens, done_ns,
  coalesce(first_token_ns - scheduled_ns, -1) AS ttft_ns,
  coalesce(last_token_ns - scheduled_ns, -1) AS e2e_ns,
  CASE WHEN output_tokens > 1 AND len(event_ns) > 1
    THEN (last_token_ns - first_token_ns) / (output_tokens - 1) END AS tpot_ns
FROM read_parquet(?) ORDER BY request_id
"""


def read_requests(path: Path) -> dict[str, NDArray[Any]]:
    """Columns of one cell's requests.parquet, ordered by request id.

    Returns ``request_id``, ``status`` (text), ``scheduled_ns``, ``done_ns``, ``output_tokens``, and
    ``ttft_ns``, ``tpot_ns``, ``e2e_ns`` as float64 with NaN where a request has none. TPOT of a
    one-token answer does not exist.

    Raises:
        IntegrityError: the file is missing or is not a table of requests.
    """
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    try:
        with duckdb.connect(config=config) as con:
            found = con.execute(_QUERY, [str(path)]).fetchnumpy()
    except duckdb.Error as error:
        raise IntegrityError(
            f"requests.parquet cannot be read: {str(error)[:200]}",
            where=str(path),
            unchanged="the file is left as it is",
            remedy="restore the file, or move the cell's folder away and run the trial again",
        ) from error
    columns = {name: np.ma.filled(np.ma.asarray(v), _fill(v)) for name, v in found.items()}
    columns["status"] = columns["status"].astype("U12")  # compared often: not as objects
    for name in ("ttft_ns", "tpot_ns", "e2e_ns"):
        values = columns[name].astype(np.float64)
        values[values < 0] = np.nan
        columns[name] = values
    return columns


def _fill(values: NDArray[Any]) -> Any:
    return np.nan if values.dtype.kind == "f" else -1 if values.dtype.kind in "iu" else ""


def offered(columns: Columns) -> NDArray[np.bool_]:
    """Which requests count: all but those cancelled by plan or in flight at the window's end."""
    return np.asarray((columns["status"] != "cancelled") & (columns["status"] != "in_flight"))


def completed(columns: Columns) -> NDArray[np.bool_]:
    """Which requests completed."""
    return np.asarray(columns["status"] == "completed")


def latency_ms(columns: Columns, name: str) -> NDArray[np.float64]:
    """One latency of the requests that count, ms; infinite for one that did not complete.

    Completed requests that have no such value (TPOT of one token) are left out.
    """
    column = columns.get(LATENCY_COLUMNS[name])
    if column is None:
        return np.empty(0)
    values = np.where(completed(columns), column / 1e6, np.inf)[offered(columns)]
    return np.asarray(values[~np.isnan(values)], dtype=np.float64)


def meets_every_slo(columns: Columns, slo: Slo) -> NDArray[np.bool_]:
    """Per request that counts: completed, and no latency above its limit.

    The limit is the workload's ``request_limit``.
    """
    good = completed(columns)
    for name, column in LATENCY_COLUMNS.items():
        limit = request_limit(getattr(slo, name))
        if limit is not None:
            with np.errstate(invalid="ignore"):
                good = good & ~(columns[column] / 1e6 > limit)
            if name == "ttft_ms":  # completed without any content: no first token ever came
                good = good & ~np.isnan(columns[column])
    return np.asarray(good[offered(columns)])


def start_values(
    columns: Columns, slo: Slo, metrics: Sequence[str], shared: NDArray[np.bool_] | None = None
) -> dict[str, float]:
    """metric -> value of one start; NaN where it has none.

    Args:
        shared: requests over which latencies are taken; all that completed if None.
    """
    values: dict[str, float] = {}
    for metric in metrics:
        name, _, key = metric.partition(".")
        if metric == "goodput":
            good = meets_every_slo(columns, slo)
            values[metric] = float(good.mean()) if good.size else float("nan")
        elif metric == "output_tokens_per_s":
            values[metric] = output_tokens_per_s(columns)
        elif name in LATENCY_COLUMNS:
            kept = completed(columns) if shared is None else completed(columns) & shared
            found = columns[LATENCY_COLUMNS[name]][kept] / 1e6
            values[metric] = latency_value(found[~np.isnan(found)], key)
    return values


def output_tokens_per_s(columns: Columns) -> float:
    """Output tokens of completed requests over first schedule to last end."""
    done = completed(columns)
    if not done.any():
        return float("nan")
    span_ns = float(columns["done_ns"][done].max() - columns["scheduled_ns"].min())
    return float(columns["output_tokens"][done].sum() / span_ns * 1e9) if span_ns > 0 else np.nan


def latency_value(values: NDArray[np.float64], key: str) -> float:
    """``mean``, ``max`` or a named percentile; NaN of nothing."""
    if not values.size:
        return float("nan")
    if key == "mean":
        return float(values.mean())
    if key == "max":
        return float(values.max())
    return percentile(values, QS[key])
