"""The figures of a trial, computed by the SQL that is shown beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from seatrial.charts import (
    Column,
    Figure,
    Row,
    against_load,
    distribution,
    intervals,
    lines,
    over_time,
    spans,
    steps,
    without_rows,
)
from seatrial.dossier import load_sql, sql
from seatrial.dossier.service import service_figures
from seatrial.dossier.slo import Slo
from seatrial.dossier.words import Words

if TYPE_CHECKING:
    import duckdb

Chart = Callable[[list[Row]], dict[str, Any]]


class Maker(msgspec.Struct, frozen=True):
    """What every figure needs: the database, the language, the candidates in order, the SLOs."""

    con: Any  # duckdb.DuckDBPyConnection
    words: Words
    candidates: list[str]
    slo: Slo
    telemetry: bool

    def figure(self, id: str, query: str, columns: list[Column], chart: Chart) -> Figure | None:
        """The figure ``id`` with its words from the catalogue; None where the query has no rows."""
        found = sql.rows(self.con, query)
        if not found:
            return None
        return Figure(
            id=id,
            title=self.words(f"figure.{id}.title"),
            says=self.words(f"figure.{id}.says"),
            basis="measured",
            columns=columns,
            rows=found,
            spec=without_rows(chart(found)),
            sql=query,
        )

    def column(self, key: str, unit: str = "") -> Column:
        """A column whose heading is in the catalogue."""
        return Column(key=key, title=self.words(f"column.{key}"), unit=unit)


def measured_figures(
    con: duckdb.DuckDBPyConnection,
    words: Words,
    candidates: list[str],
    slo: Slo,
    *,
    telemetry: bool,
) -> list[Figure]:
    """Every figure that the cells' Parquet files allow, in the order of the dossier.

    ``telemetry``: whether the cells have telemetry.parquet with the engine's memory.
    """
    maker = Maker(con, words, candidates, slo, telemetry)
    found = [
        *(_distribution(maker, metric) for metric in ("ttft_ms", "tpot_ms", "e2e_ms")),
        *(_per_start(maker, metric) for metric in ("ttft_ms", "tpot_ms")),
        _goodput(maker),
        *(_over_time(maker, metric) for metric in ("ttft_ms", "tpot_ms")),
        _latency_load(maker),
        _length_classes(maker),
        _behind_long(maker),
        *service_figures(maker),
        _memory(maker),
        _offered(maker),
        *(_lengths(maker, column) for column in ("input_tokens", "output_tokens")),
    ]
    return [figure for figure in found if figure is not None]


def _distribution(maker: Maker, metric: str) -> Figure | None:
    columns = [maker.column("candidate"), maker.column("start"), maker.column("share")]
    columns.append(maker.column("value_ms", "ms"))

    def chart(rows: list[Row]) -> dict[str, Any]:
        return distribution(
            rows,
            candidates=maker.candidates,
            title=maker.words(f"metric.{metric}"),
            share_title=maker.words("axis.share_offered"),
            slo=maker.slo.shares(metric),
            slo_label="SLO",
        )

    return maker.figure(f"{metric}-distribution", sql.distribution(metric), columns, chart)


def _per_start(maker: Maker, metric: str) -> Figure | None:
    percentile, limit = maker.slo.leading(metric)
    columns = [maker.column("candidate"), maker.column("start"), maker.column("n")]
    columns += [maker.column(k, "ms") for k in ("value", "low", "high")]

    def chart(rows: list[Row]) -> dict[str, Any]:
        return intervals(
            rows,
            candidates=maker.candidates,
            title=f"{maker.words(f'metric.{metric}')}, {percentile.upper()}",
            limit=limit,
            limit_label=f"SLO {limit:g} ms" if limit is not None else "",
        )

    return maker.figure(f"{metric}-starts", sql.per_start(metric, percentile), columns, chart)


def _goodput(maker: Maker) -> Figure | None:
    limits = maker.slo.per_request()
    if not limits or maker.slo.latency.get("itl_ms"):  # ITL is not in the requests' columns
        return None
    columns = [maker.column(k) for k in ("candidate", "start", "n", "value", "low", "high")]

    def chart(rows: list[Row]) -> dict[str, Any]:
        return intervals(
            rows,
            candidates=maker.candidates,
            title=maker.words("axis.goodput"),
            limit=maker.slo.goodput,
            limit_label=f"SLO {maker.slo.goodput:.0%}" if maker.slo.goodput is not None else "",
            share=True,
        )

    return maker.figure("goodput-starts", sql.goodput(limits), columns, chart)


def _over_time(maker: Maker, metric: str) -> Figure | None:
    _, limit = maker.slo.leading(metric)
    columns = [maker.column("candidate"), maker.column("t_s", "s"), maker.column("n")]
    columns += [maker.column("p50", "ms"), maker.column("p95", "ms")]

    def chart(rows: list[Row]) -> dict[str, Any]:
        return over_time(
            rows,
            candidates=maker.candidates,
            title=maker.words(f"metric.{metric}"),
            time_title=maker.words("axis.time"),
            limit=limit,
        )

    return maker.figure(f"{metric}-over-time", sql.over_time(metric), columns, chart)


def _latency_load(maker: Maker) -> Figure | None:
    _, limit = maker.slo.leading("ttft_ms")
    columns = [maker.column(k) for k in ("candidate", "load_from", "load", "n")]
    columns += [maker.column(k, "ms") for k in ("p50", "p95", "tpot_p50", "tpot_p95")]

    def chart(rows: list[Row]) -> dict[str, Any]:
        return against_load(
            rows,
            candidates=maker.candidates,
            title=maker.words("metric.ttft_ms"),
            load_title=maker.words("axis.load"),
            limit=limit,
        )

    return maker.figure("latency-load", load_sql.LATENCY_BY_LOAD, columns, chart)


def _length_classes(maker: Maker) -> Figure | None:
    def classes(rows: list[Row]) -> list[str]:
        return list(dict.fromkeys(str(r["class"]) for r in rows))

    return _spans(maker, "length-classes", sql.LENGTH_CLASSES, classes)


def _behind_long(maker: Maker) -> Figure | None:
    def classes(rows: list[Row]) -> list[str]:
        return sorted({str(r["class"]) for r in rows}, reverse=True)

    return _spans(maker, "behind-long", sql.BEHIND_LONG, classes)


def _spans(
    maker: Maker, id: str, query: str, classes: Callable[[list[Row]], list[str]]
) -> Figure | None:
    _, limit = maker.slo.leading("ttft_ms")
    columns = [maker.column("candidate"), maker.column("class"), maker.column("n")]
    columns += [maker.column(k, "ms") for k in ("p10", "p50", "p90", "p95")]

    def chart(rows: list[Row]) -> dict[str, Any]:
        return spans(
            rows,
            candidates=maker.candidates,
            classes=classes(rows),
            title=maker.words("metric.ttft_ms"),
            limit=limit,
            limit_label=f"SLO {limit:g} ms" if limit is not None else "",
        )

    return maker.figure(id, query, columns, chart)


def _memory(maker: Maker) -> Figure | None:
    columns = [maker.column("candidate"), maker.column("start"), maker.column("t_s", "s")]
    columns.append(maker.column("rss_mib", "MiB"))

    def chart(rows: list[Row]) -> dict[str, Any]:
        return lines(
            rows,
            candidates=maker.candidates,
            y="rss_mib",
            title=maker.words("axis.memory"),
            time_title=maker.words("axis.time"),
        )

    if not maker.telemetry:
        return None
    return maker.figure("memory", sql.MEMORY, columns, chart)


def _offered(maker: Maker) -> Figure | None:
    columns = [maker.column("t_s", "s"), maker.column("to_s", "s"), maker.column("per_s", "1/s")]

    def chart(rows: list[Row]) -> dict[str, Any]:
        return steps(
            rows,
            x="t_s",
            x_end="to_s",
            y="per_s",
            x_title=maker.words("axis.time"),
            y_title=maker.words("axis.arrivals"),
        )

    return maker.figure("offered", sql.OFFERED, columns, chart)


def _lengths(maker: Maker, column: str) -> Figure | None:
    columns = [maker.column("from_tokens"), maker.column("to_tokens"), maker.column("n")]

    def chart(rows: list[Row]) -> dict[str, Any]:
        return steps(
            rows,
            x="from_tokens",
            x_end="to_tokens",
            y="n",
            x_title=maker.words(f"axis.{column}"),
            y_title=maker.words("axis.requests"),
            log_x=True,
        )

    return maker.figure(f"{column}-lengths", sql.lengths(column), columns, chart)
