"""The SQL behind the table of candidates: every number in it, again from the files.

Latencies, tokens per second, goodput and failures come from requests.parquet, memory from
telemetry.parquet, the cold start from cell.json (no request knows it). The statement gives one
row per candidate, metric and start, with the mean over the valid starts and its 95 % interval
(Student's t; the quantiles stand in the statement, DuckDB has none) repeated beside it.
"""

from __future__ import annotations

from seatrial.dossier.slo import Slo
from seatrial.stats.mean import t_quantile

LATENCIES = ("ttft_ms", "tpot_ms", "e2e_ms")
POINTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def candidates_table(slo: Slo, starts: int, *, telemetry: bool) -> str:
    """The statement for a trial with at most ``starts`` valid starts of a candidate.

    Args:
        slo: its per-request limits define goodput; without any there is no goodput.
        telemetry: whether the cells have telemetry.parquet.
    """
    sources = [_measured(slo), _COLD_START, *([_MEMORY] if telemetry else [])]
    parts = "\n  UNION ALL\n".join(sources)
    return f"""\
WITH one AS (
{parts}),
mean AS (SELECT candidate, metric, count(*) AS k, avg(value) AS mean,
    {_t_case(starts)} * stddev_samp(value) / sqrt(count(*)) AS half
  FROM one WHERE value IS NOT NULL GROUP BY candidate, metric)
SELECT candidate, metric, "start", value, mean,
  greatest(0, mean - half) AS low,
  CASE WHEN metric IN ('goodput', 'failure_rate') THEN least(1, mean + half)
    ELSE mean + half END AS high
FROM one JOIN mean USING (candidate, metric) ORDER BY candidate, metric, "start\""""


def _measured(slo: Slo) -> str:
    """Latencies and shares, one row per metric and start."""
    named = [(f"{m}.{p}", _quantile(m, q)) for m in LATENCIES for p, q in POINTS.items()]
    named.append(("output_tokens_per_s", _TOKENS_PER_S))
    named.append(("failure_rate", f"count(*) FILTER (status IN {_LOST}) / nullif({_COUNTED}, 0)"))
    if (good := meets(slo)) is not None:
        named.append(("goodput", f"count(*) FILTER ({good}) / nullif({_COUNTED}, 0)"))
    names = ", ".join(f"'{name}'" for name, _ in named)
    values = ",\n      ".join(value for _, value in named)
    return f"""\
  SELECT candidate, "start", unnest([{names}]) AS metric,
    unnest([{values}]) AS value
  FROM requests WHERE valid GROUP BY candidate, "start\""""


def meets(slo: Slo) -> str | None:
    """The condition of a good request; None without limits, or where one is on ITL.

    ITL is a matter of the single events, which this table does not unfold.
    """
    limits = slo.per_request()
    if not limits or slo.latency.get("itl_ms"):
        return None
    return " AND ".join(
        ["status = 'completed'", *(f"coalesce({m} <= {v:g}, true)" for m, v in limits.items())]
    )


_LOST = "('failed', 'timed_out', 'cut')"
_COUNTED = "count(*) FILTER (status NOT IN ('cancelled', 'in_flight'))"
_TOKENS_PER_S = (
    "sum(output_tokens) FILTER (status = 'completed' AND output_tokens > 0)"
    " / nullif((max(done_ns) - min(scheduled_ns)) / 1e9, 0)"
)
_COLD_START = """\
  SELECT candidate, "start", 'cold_start' AS metric,
    coalesce(cold_start_s."total", cold_start_s."first_token") AS value
  FROM read_json('cells/*/*/cell.json', columns = {candidate: 'VARCHAR', "start": 'INTEGER',
    valid: 'BOOLEAN', cold_start_s: 'STRUCT("total" DOUBLE, "first_token" DOUBLE)'})
  WHERE valid"""
_MEMORY = """\
  SELECT c.candidate, c."start", 'rss_peak' AS metric, max(t.engine_rss_bytes) AS value
  FROM read_parquet('cells/*/*/telemetry.parquet', filename = true, union_by_name = true) t
  JOIN cells c ON t.filename = replace(c.filename, 'cell.json', 'telemetry.parquet')
  WHERE c.valid GROUP BY c.candidate, c."start\""""


def _quantile(metric: str, q: float) -> str:
    return f"quantile_cont({metric}, {q:g}) FILTER (status = 'completed')"


def _t_case(starts: int) -> str:
    """The 97.5 % quantile of Student's t with k - 1 degrees of freedom, as a CASE over k."""
    cases = " ".join(f"WHEN {k} THEN {float(t_quantile(k - 1, 0.975)):.9g}" for k in _range(starts))
    return f"CASE count(*) {cases} END"


def _range(starts: int) -> range:
    return range(2, max(2, starts) + 1)
