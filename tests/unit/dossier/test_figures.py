"""Each figure is what its SQL says, and the SQL says what the definitions say."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from seatrial.dossier import Dossier, compose
from seatrial.stats.percentile import percentile

CASES = ("selected", "tie", "undecided", "regression")


@pytest.fixture(scope="module")
def dossiers(made_up: dict[str, Path]) -> dict[str, Dossier]:
    return {case: compose(made_up[case]) for case in CASES}


def plain(monkeypatch: pytest.MonkeyPatch, trial: Path, prelude: str, query: str) -> list[Any]:
    """What a reader gets who pastes the SQL into DuckDB in the trial's folder."""
    monkeypatch.chdir(trial)
    with duckdb.connect() as con:
        con.execute(prelude)
        result = con.execute(query)
        names = [c[0] for c in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@pytest.mark.parametrize("case", CASES)
def test_every_figure_is_recomputed_by_the_sql_beside_it(
    case: str,
    made_up: dict[str, Path],
    dossiers: dict[str, Dossier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dossier = dossiers[case]
    assert len(dossier.figures) >= 12
    for figure in dossier.figures:
        found = plain(monkeypatch, made_up[case], dossier.sql_prelude, figure.sql)
        assert len(found) == len(figure.rows), figure.id
        for again, shown in zip(found, figure.rows, strict=True):
            assert set(again) == set(shown)
            for key, value in again.items():
                same = value == shown[key] or math.isclose(float(value), float(str(shown[key])))
                assert same, (figure.id, key)
        empty = {k for k in figure.rows[0] if all(row[k] is None for row in figure.rows)}
        assert {c.key for c in figure.columns} | empty == set(figure.rows[0])


@pytest.mark.parametrize("case", CASES)
def test_every_number_of_the_table_of_candidates_is_recomputed(
    case: str,
    made_up: dict[str, Path],
    dossiers: dict[str, Dossier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dossier = dossiers[case]
    query = dossier.candidates_sql
    found = plain(monkeypatch, made_up[case], dossier.sql_prelude, query)
    again = {(r["candidate"], r["metric"], r["start"]): r for r in found}
    starts = {
        c.candidate: [x.start for x in dossier.cells if x.candidate == c.candidate and x.valid]
        for c in dossier.candidates
    }
    checked = 0
    for line in dossier.candidates:
        for m in line.metrics:
            for start, value in zip(starts[line.candidate], m.per_start, strict=True):
                row = again[line.candidate, m.metric, start]
                assert row["value"] == pytest.approx(value, rel=1e-9), (m.metric, start)
                if m.over_starts is not None:
                    shown = m.over_starts
                    ends = (row["low"], row["mean"], row["high"])
                    assert ends == pytest.approx((shown.low, shown.best, shown.high), rel=1e-6)
                checked += 1
    assert checked == len(found) > 50


def rows_of(dossier: Dossier, id: str) -> list[dict[str, Any]]:
    return next(f.rows for f in dossier.figures if f.id == id)


@cache
def read(trial: Path, candidate: str, start: int) -> dict[str, Any]:
    path = trial / "cells" / candidate / f"{start:03d}" / "requests.parquet"
    with duckdb.connect() as con:
        return con.execute(f"SELECT * FROM read_parquet('{path}')").fetchnumpy()


def ttft(columns: dict[str, Any]) -> Any:
    done = columns["status"] == "completed"
    return (columns["first_token_ns"] - columns["scheduled_ns"])[done] / 1e6


def test_percentiles_per_start_are_those_of_the_stated_rule(
    made_up: dict[str, Path], dossiers: dict[str, Dossier]
) -> None:
    for row in rows_of(dossiers["selected"], "ttft_ms-starts"):
        values = ttft(read(made_up["selected"], str(row["candidate"]), int(row["start"])))
        assert row["value"] == pytest.approx(percentile(values, 0.95), rel=1e-9)
        assert row["low"] <= row["value"] <= row["high"]


def test_a_distribution_is_over_the_offered_requests_so_failures_never_arrive(
    made_up: dict[str, Path], dossiers: dict[str, Dossier]
) -> None:
    rows = [r for r in rows_of(dossiers["selected"], "ttft_ms-distribution") if r["start"] == "2"]
    for row in rows:
        columns = read(made_up["selected"], str(row["candidate"]), 2)
        arrived = np.sort(ttft(columns))
        within = float(np.mean(arrived <= float(row["value_ms"]) + 1e-3))
        share = within * len(arrived) / len(columns["status"])
        assert share >= float(row["share"]) - 1e-9
        assert share <= float(row["share"]) + 2 / len(columns["status"])
    assert max(float(r["share"]) for r in rows) < 1.0


def test_goodput_counts_failures_as_misses(
    made_up: dict[str, Path], dossiers: dict[str, Dossier]
) -> None:
    for row in rows_of(dossiers["selected"], "goodput-starts"):
        columns = read(made_up["selected"], str(row["candidate"]), int(row["start"]))
        steps = np.maximum(columns["output_tokens"] - 1, 1)
        tpot = (columns["last_token_ns"] - columns["first_token_ns"]) / steps / 1e6
        one = columns["output_tokens"] == 1
        slow = (columns["first_token_ns"] - columns["scheduled_ns"]) / 1e6 > 900
        good = (columns["status"] == "completed") & ~slow & (one | (tpot <= 45))
        assert row["value"] == pytest.approx(float(np.mean(np.ma.filled(good, False))))
        assert row["low"] <= row["value"] <= row["high"]


def test_short_behind_long_is_what_its_caption_says(
    made_up: dict[str, Path], dossiers: dict[str, Dossier]
) -> None:
    trial, dossier = made_up["selected"], dossiers["selected"]
    candidate = dossier.candidates[0].candidate
    cells = [read(trial, c.candidate, c.start) for c in dossier.cells]
    every = np.sort(np.concatenate([c["input_tokens"] for c in cells]))
    short_to = every[math.ceil(0.5 * len(every)) - 1]
    long_from = every[math.ceil(0.9 * len(every)) - 1]
    behind = 0
    for start in (1, 2, 3):
        c = read(trial, candidate, start)
        until = np.where(c["input_tokens"] >= long_from, first_or_done(c), -1)
        for i in range(1, len(until)):
            short = c["input_tokens"][i] <= short_to and c["status"][i] == "completed"
            behind += bool(short and until[:i].max() > c["scheduled_ns"][i])
    rows = rows_of(dossier, "behind-long")
    shown = {r["class"]: r["n"] for r in rows if r["candidate"] == candidate}
    assert shown["behind a long one"] == behind
    assert behind > 0


def first_or_done(columns: dict[str, Any]) -> Any:
    first = np.ma.filled(np.ma.asarray(columns["first_token_ns"]), -1)
    return np.where(first < 0, columns["done_ns"], first)


def test_an_invalid_cell_takes_no_part_in_any_number(dossiers: dict[str, Dossier]) -> None:
    dossier = dossiers["undecided"]
    spoiled = next(c for c in dossier.cells if not c.valid)
    for figure in dossier.figures:
        for row in figure.rows:
            if row.get("candidate") == spoiled.candidate:
                assert str(row.get("start", "")) != str(spoiled.start), figure.id
    line = next(c for c in dossier.candidates if c.candidate == spoiled.candidate)
    assert (line.starts, line.valid) == (3, 2)


def test_rows_stay_few_whatever_the_size_of_the_trial(dossiers: dict[str, Dossier]) -> None:
    assert sum(len(f.rows) for f in dossiers["selected"].figures) < 3000
