"""The SQL behind every figure, as it is shown beside it.

It runs in plain DuckDB, started in the trial's folder, after the prelude; nothing of seatrial is
needed. The dossier is built by the same statements, so what is shown is what was done. All
aggregation happens in DuckDB: a million requests never become Python objects.

Definitions: TTFT runs from ``scheduled_ns`` (no coordinated omission) to the first content token;
TPOT is (last token - first token) / (output tokens - 1); E2E ends with the last token. Percentiles
are the linear rule (``quantile_cont``; Hyndman and Fan, Am. Stat. 50, 1996, type 7) over the
completed requests. The distributions are over the offered requests, cancelled ones apart: what
failed counts as never answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seatrial.charts import Row
from seatrial.core.errors import IntegrityError

if TYPE_CHECKING:
    import duckdb

PRELUDE = """\
CREATE OR REPLACE TEMP TABLE cells AS
SELECT filename, candidate, "start", valid, ttft_ms, tpot_ms, e2e_ms
FROM read_json('cells/*/*/cell.json', filename = true, columns = {candidate: 'VARCHAR',
  "start": 'INTEGER', valid: 'BOOLEAN', ttft_ms: 'JSON', tpot_ms: 'JSON', e2e_ms: 'JSON'});
CREATE OR REPLACE TEMP TABLE requests AS
WITH began AS (SELECT filename, min(scheduled_ns) AS began_ns
  FROM read_parquet('cells/*/*/requests.parquet', filename = true) GROUP BY filename)
SELECT c.candidate, c."start", c.valid, r.status, r.input_tokens, r.output_tokens,
  r.scheduled_ns, r.first_token_ns, r.done_ns, (r.scheduled_ns - began_ns) / 1e9 AS t_s,
  (r.first_token_ns - r.scheduled_ns) / 1e6 AS ttft_ms,
  CASE WHEN r.output_tokens > 1 AND r.last_token_ns > r.first_token_ns
    THEN (r.last_token_ns - r.first_token_ns) / (r.output_tokens - 1) / 1e6 END AS tpot_ms,
  (r.last_token_ns - r.scheduled_ns) / 1e6 AS e2e_ms
FROM read_parquet('cells/*/*/requests.parquet', filename = true, union_by_name = true) r
JOIN cells c ON r.filename = replace(c.filename, 'cell.json', 'requests.parquet')
JOIN began b ON b.filename = r.filename;
"""

SHARES = [
    *(round(i / 50, 2) for i in range(1, 50)),
    0.985,
    0.99,
    0.995,
    1.0,
]
BINS = 48


@contextmanager
def database(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory in which relative paths are those of ``folder``; the prelude has run.

    Raises:
        IntegrityError: a file of the trial is not what the SQL expects.
    """
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "file_search_path": str(folder.resolve()),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "threads": "2",
    }
    con = duckdb.connect(config=config)
    try:
        con.execute(PRELUDE)
        yield con
    except duckdb.Error as error:
        raise IntegrityError(
            f"the trial's Parquet files do not hold what they should: {str(error)[:300]}",
            where=str(folder / "cells"),
            remedy="restore the files, or run the trial again in another folder",
        ) from error
    finally:
        con.close()


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[Row]:
    """The result of ``sql`` as dicts; infinities and NaN are None."""
    result = con.execute(sql)
    names = [column[0] for column in result.description]
    return [
        {name: _finite(value) for name, value in zip(names, record, strict=True)}
        for record in result.fetchall()
    ]


def _finite(value: object) -> int | float | str | bool | None:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if abs(value) != float("inf") and value == value else None
    return float(str(value))


def distribution(metric: str) -> str:
    """The distribution of ``metric`` (ttft_ms, tpot_ms, e2e_ms) per candidate and per start."""
    shares = ", ".join(f"{s:g}" for s in SHARES)
    missing = " AND (tpot_ms IS NOT NULL OR status <> 'completed')" if metric == "tpot_ms" else ""
    return f"""\
SELECT candidate, "start", share, round(value_ms, 3) AS value_ms FROM (
  SELECT candidate, coalesce(CAST("start" AS VARCHAR), 'all') AS "start",
    unnest([{shares}]) AS share, unnest(quantile_disc(CASE WHEN status = 'completed' THEN {metric}
      ELSE 'Infinity'::DOUBLE END, [{shares}])) AS value_ms
  FROM requests WHERE valid AND status <> 'cancelled'{missing}
  GROUP BY GROUPING SETS ((candidate), (candidate, "start")))
WHERE value_ms < 'Infinity'::DOUBLE
ORDER BY candidate, "start", share"""


def per_start(metric: str, percentile: str) -> str:
    """One percentile per start, with the interval that its cell states."""
    q = float(f"0.{percentile[1:]}")
    return f"""\
SELECT r.candidate, r."start", count(*) AS n,
  quantile_cont(r.{metric}, {q:g}) AS value,
  CAST(any_value(c.{metric}) -> 'intervals' -> '{percentile}' ->> 'low' AS DOUBLE) AS low,
  CAST(any_value(c.{metric}) -> 'intervals' -> '{percentile}' ->> 'high' AS DOUBLE) AS high
FROM requests r JOIN cells c USING (candidate, "start")
WHERE r.valid AND r.status = 'completed' AND r.{metric} IS NOT NULL
GROUP BY r.candidate, r."start" ORDER BY r.candidate, r."start\""""


def goodput(limits: dict[str, float]) -> str:
    """Share of offered requests that meet every limit, per start, with Wilson's interval.

    Wilson, J. Am. Stat. Assoc. 22, 1927. Limits are per request: metric -> ms;
    a request that has no such value (TPOT of one token) cannot miss it. Requests that the plan
    cancelled, or that the end of the window left open, are nobody's miss.
    """
    meets = " AND ".join(
        ["status = 'completed'", *(f"coalesce({m} <= {v:g}, true)" for m, v in limits.items())]
    )
    return f"""\
WITH g AS (SELECT candidate, "start", count(*) AS n,
    avg(CASE WHEN {meets} THEN 1.0 ELSE 0.0 END) AS p
  FROM requests WHERE valid AND status NOT IN ('cancelled', 'in_flight') GROUP BY ALL)
SELECT candidate, "start", n, p AS value,
  greatest(0, (p + 1.92073/n - 1.95996*sqrt(p*(1-p)/n + 0.960365/n/n)) / (1 + 3.84146/n)) AS low,
  least(1, (p + 1.92073/n + 1.95996*sqrt(p*(1-p)/n + 0.960365/n/n)) / (1 + 3.84146/n)) AS high
FROM g ORDER BY candidate, "start\""""


def over_time(metric: str) -> str:
    """Median and P95 in bins of the schedule, all valid starts of a candidate together."""
    return f"""\
WITH w AS (SELECT greatest(max(t_s) / {BINS}, 1e-3) AS width FROM requests WHERE valid)
SELECT candidate, round((floor(t_s / width) + 0.5) * width, 3) AS t_s, count(*) AS n,
  round(quantile_cont({metric}, 0.5), 3) AS p50, round(quantile_cont({metric}, 0.95), 3) AS p95
FROM requests, w
WHERE valid AND status = 'completed' AND {metric} IS NOT NULL
GROUP BY candidate, floor(t_s / width), width ORDER BY candidate, t_s"""


_SPANS = """count(*) AS n, quantile_cont(ttft_ms, 0.1) AS p10,
  quantile_cont(ttft_ms, 0.5) AS p50, quantile_cont(ttft_ms, 0.9) AS p90,
  quantile_cont(ttft_ms, 0.95) AS p95"""

LENGTH_CLASSES = f"""\
WITH cut AS (SELECT quantile_disc(input_tokens, [0.25, 0.5, 0.75]) AS q FROM requests WHERE valid),
labelled AS (SELECT *, CASE WHEN input_tokens <= q[1] THEN '≤ ' || q[1]
    WHEN input_tokens <= q[2] THEN (q[1] + 1) || ' to ' || q[2]
    WHEN input_tokens <= q[3] THEN (q[2] + 1) || ' to ' || q[3]
    ELSE '> ' || q[3] END AS class FROM requests, cut)
SELECT candidate, class, {_SPANS}
FROM labelled WHERE valid AND status = 'completed'
GROUP BY candidate, class ORDER BY candidate, min(input_tokens)"""

BEHIND_LONG = f"""\
WITH cut AS (SELECT quantile_disc(input_tokens, 0.5) AS short_to,
    quantile_disc(input_tokens, 0.9) AS long_from FROM requests WHERE valid),
long AS (SELECT candidate, "start", scheduled_ns, max(coalesce(first_token_ns, done_ns)) OVER
    (PARTITION BY candidate, "start" ORDER BY scheduled_ns) AS long_until
  FROM requests, cut WHERE valid AND input_tokens >= long_from),
short AS (SELECT candidate, "start", scheduled_ns, ttft_ms FROM requests, cut
  WHERE valid AND status = 'completed' AND input_tokens <= short_to)
SELECT s.candidate, CASE WHEN coalesce(long_until > s.scheduled_ns, false)
    THEN 'behind a long one' ELSE 'no long one waiting' END AS class, {_SPANS}
FROM short s ASOF LEFT JOIN long l ON s.candidate = l.candidate AND s."start" = l."start"
  AND s.scheduled_ns > l.scheduled_ns
GROUP BY s.candidate, class ORDER BY s.candidate, class DESC"""

OFFERED = """\
WITH one AS (SELECT candidate, "start" FROM cells WHERE valid ORDER BY candidate, "start" LIMIT 1),
r AS (SELECT t_s FROM requests JOIN one USING (candidate, "start")),
w AS (SELECT greatest(max(t_s) / 60, 1e-3) AS width FROM r)
SELECT floor(t_s / width) * width AS t_s, (floor(t_s / width) + 1) * width AS to_s,
  count(*) / width AS per_s
FROM r, w GROUP BY floor(t_s / width), width ORDER BY 1"""


MEMORY = f"""\
WITH t AS (SELECT filename, t_ns, engine_rss_bytes AS rss,
    (t_ns - min(t_ns) OVER (PARTITION BY filename)) / 1e9 AS t_s
  FROM read_parquet('cells/*/*/telemetry.parquet', filename = true, union_by_name = true)),
w AS (SELECT greatest(max(t_s) / {BINS}, 1e-3) AS width FROM t)
SELECT c.candidate, c."start", round(floor(t_s / width) * width, 3) AS t_s,
  round(max(rss) / 1048576, 2) AS rss_mib
FROM t JOIN cells c ON t.filename = replace(c.filename, 'cell.json', 'telemetry.parquet'), w
WHERE c.valid AND rss IS NOT NULL
GROUP BY c.candidate, c."start", floor(t_s / width), width ORDER BY 1, 2, 3"""


def lengths(column: str) -> str:
    """A histogram of ``input_tokens`` or ``output_tokens`` as offered, bins of equal ratio."""
    return f"""\
WITH one AS (SELECT candidate, "start" FROM cells WHERE valid ORDER BY candidate, "start" LIMIT 1),
r AS (SELECT {column} AS v FROM requests JOIN one USING (candidate, "start") WHERE {column} > 0)
SELECT pow(1.25, floor(ln(v) / ln(1.25))) AS from_tokens,
  pow(1.25, floor(ln(v) / ln(1.25)) + 1) AS to_tokens, count(*) AS n
FROM r GROUP BY 1, 2 ORDER BY 1"""


STATUS = """\
SELECT candidate, "start", count(*) AS offered,
  count(*) FILTER (status = 'completed') AS completed,
  count(*) FILTER (status = 'failed') AS failed,
  count(*) FILTER (status = 'cancelled') AS cancelled,
  count(*) FILTER (status = 'timed_out') AS timed_out, count(*) FILTER (status = 'cut') AS cut,
  count(*) FILTER (status = 'in_flight') AS in_flight
FROM requests GROUP BY candidate, "start" ORDER BY candidate, "start\""""
