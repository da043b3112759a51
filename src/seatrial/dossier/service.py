"""In which order an engine serves, how long its queue is, how much of a prefix it reuses.

Schedulers differ in what no average shows: whether a later request gets its first token before an
earlier one that still waits, how many wait when one arrives, how many are being answered. All of
it is read from the requests' own times; nothing is asked of the engine. Definitions:

    waiting pair   an earlier request had no first token yet when the later one was scheduled
    overtaken      of those pairs, the share in which the later one got its first token first
    waiting, answering   requests before it without / with a first token, not done, at an arrival
    reused         cached prompt tokens (the engine's usage) / prompt tokens of those requests

Pairs are taken of the first ``MOST`` requests of a start: their number grows with the square.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from seatrial.charts import Column, Figure, Row, intervals
from seatrial.dossier.words import Words

MOST = 1500

ORDER = f"""\
WITH r AS (SELECT candidate, "start", scheduled_ns, first_token_ns, done_ns,
    row_number() OVER (PARTITION BY candidate, "start" ORDER BY scheduled_ns) AS place
  FROM requests WHERE valid AND first_token_ns IS NOT NULL QUALIFY place <= {MOST}),
pairs AS (SELECT b.candidate, b."start", b.place,
    count(*) FILTER (a.first_token_ns > b.scheduled_ns) AS waiting,
    count(*) FILTER (a.first_token_ns <= b.scheduled_ns AND a.done_ns > b.scheduled_ns)
      AS answering,
    count(*) FILTER (a.first_token_ns > b.scheduled_ns AND b.first_token_ns < a.first_token_ns)
      AS overtaken
  FROM r b JOIN r a ON a.candidate = b.candidate AND a."start" = b."start" AND a.place < b.place
  GROUP BY ALL)
SELECT candidate, "start", CAST(sum(waiting) AS BIGINT) AS n,
  sum(overtaken) / nullif(sum(waiting), 0) AS value, CAST(NULL AS DOUBLE) AS low,
  CAST(NULL AS DOUBLE) AS high, round(avg(waiting), 3) AS waiting, max(waiting) AS waiting_most,
  round(avg(answering), 3) AS answering
FROM pairs GROUP BY candidate, "start" HAVING sum(waiting) > 0 ORDER BY candidate, "start\""""

REUSE = """\
WITH r AS (SELECT c.candidate, c."start", p.input_tokens, p.cached_tokens,
    (p.first_token_ns - p.scheduled_ns) / 1e6 AS ttft_ms
  FROM read_parquet('cells/*/*/requests.parquet', filename = true, union_by_name = true) p
  JOIN cells c ON p.filename = replace(c.filename, 'cell.json', 'requests.parquet')
  WHERE c.valid AND p.status = 'completed' AND p.input_tokens > 0 AND p.cached_tokens >= 0)
SELECT candidate, "start", count(*) AS n, sum(cached_tokens) / sum(input_tokens) AS value,
  CAST(NULL AS DOUBLE) AS low, CAST(NULL AS DOUBLE) AS high,
  count(*) FILTER (2 * cached_tokens >= input_tokens) AS hits,
  quantile_cont(ttft_ms, 0.5) FILTER (2 * cached_tokens >= input_tokens) AS hit_p50,
  quantile_cont(ttft_ms, 0.5) FILTER (2 * cached_tokens < input_tokens) AS miss_p50
FROM r GROUP BY candidate, "start" ORDER BY candidate, "start\""""


class Maker(Protocol):
    """What these figures need of the dossier's maker of figures."""

    @property
    def words(self) -> Words: ...
    @property
    def candidates(self) -> list[str]: ...

    def figure(
        self, id: str, query: str, columns: list[Column], chart: Callable[[list[Row]], Any]
    ) -> Figure | None:
        """The figure with this id; None where the query has no rows."""

    def column(self, key: str, unit: str = "") -> Column:
        """A column whose heading is in the catalogue."""


def service_figures(maker: Maker) -> list[Figure | None]:
    """Order of service and reuse of prefixes, each a share per start."""
    base = [maker.column(k) for k in ("candidate", "start")]
    order = [*base, maker.column("pairs_n"), maker.column("overtaken")]
    order += [maker.column(k) for k in ("waiting", "waiting_most", "answering")]
    reuse = [*base, maker.column("n"), maker.column("reused"), maker.column("hits")]
    reuse += [maker.column(k, "ms") for k in ("hit_p50", "miss_p50")]
    return [
        maker.figure("service-order", ORDER, _keyed(order, "n", "value"), _shares(maker, "order")),
        maker.figure("reuse", REUSE, _keyed(reuse, "n", "value"), _shares(maker, "reuse")),
    ]


def _keyed(columns: list[Column], count: str, value: str) -> list[Column]:
    """The headings say what is counted; the rows keep the names that the chart reads."""
    keys = {"pairs_n": count, "overtaken": value, "reused": value}
    return [Column(key=keys.get(c.key, c.key), title=c.title, unit=c.unit) for c in columns]


def _shares(maker: Maker, axis: str) -> Callable[[list[Row]], dict[str, Any]]:
    def chart(rows: list[Row]) -> dict[str, Any]:
        return intervals(
            rows,
            candidates=maker.candidates,
            title=maker.words(f"axis.{axis}"),
            limit=None,
            limit_label="",
            share=True,
        )

    return chart
