"""Latency against load: what a request waited for, by how many others were there before it.

Load is the number of requests in flight when this one was due: those of the same server start
that were scheduled earlier and not done yet. It is what the engine's batch and its queue are made
of, and it is known for every request without asking the engine. One start under one arrival
process visits many loads; they are read off it here, nothing is interpolated. Classes are powers
of two, because a batch that doubles is the step that engines feel.
"""

from __future__ import annotations

FEWEST = 10
"""Completed requests in a class; with fewer it is left out (its P95 is near the largest value)."""

LATENCY_BY_LOAD = f"""\
WITH came AS (SELECT candidate, "start", status, ttft_ms, tpot_ms, scheduled_ns,
    rank() OVER (PARTITION BY candidate, "start" ORDER BY scheduled_ns) - 1 AS before
  FROM requests WHERE valid),
gone AS (SELECT candidate, "start", done_ns,
    count(*) OVER (PARTITION BY candidate, "start" ORDER BY done_ns) AS gone
  FROM requests WHERE valid AND done_ns IS NOT NULL),
seen AS (SELECT came.* EXCLUDE (before), before - coalesce(gone, 0) AS load
  FROM came ASOF LEFT JOIN gone ON came.candidate = gone.candidate
    AND came."start" = gone."start" AND came.scheduled_ns >= gone.done_ns)
SELECT candidate, CAST(CASE WHEN load < 1 THEN 0 ELSE pow(2, floor(log2(load))) END AS INTEGER)
    AS load_from, round(avg(load), 2) AS load, count(*) AS n,
  round(quantile_cont(ttft_ms, 0.5), 3) AS p50, round(quantile_cont(ttft_ms, 0.95), 3) AS p95,
  round(quantile_cont(tpot_ms, 0.5), 3) AS tpot_p50,
  round(quantile_cont(tpot_ms, 0.95), 3) AS tpot_p95
FROM seen WHERE status = 'completed'
GROUP BY 1, 2 HAVING count(*) >= {FEWEST} ORDER BY 1, 2"""
