"""Any OpenAI-compatible server can be loaded, also one whose token counts are absent or wrong."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pytest

from seatrial.bench import comparability
from seatrial.cli.main import run as seatrial
from seatrial.core.errors import EngineError
from seatrial.trace.table import RequestTable

_SERVERS = [("none", True), ("constant", False)]


@pytest.mark.parametrize(("usage", "missing"), _SERVERS)
def test_a_server_that_does_not_count_is_measured_with_estimates(
    mock_url, cell_of, make_table, usage, missing
):
    url = mock_url("--usage", usage, "--no-tokenize")
    cell, folder = cell_of(url, table=make_table(inputs=80), exact=False)
    assert cell.requests.completed == 6
    assert cell.input_tokens_estimated
    assert cell.comparability["input_tokens"] == "estimated"
    assert cell.comparability["template_overhead_tokens"] is None
    assert any(f.id == "input-tokens-estimated" for f in cell.findings)
    assert any("input lengths are estimates" in said for said in cell.assumptions)
    rows = duckdb.sql(
        f"SELECT DISTINCT input_tokens, input_estimated FROM '{folder}/requests.parquet'"
    ).fetchall()
    assert rows == ([(80, True)] if missing else [(1, False)])


def test_words_are_sent_and_output_is_still_counted(mock_url, cell_of, make_table):
    url = mock_url("--usage", "none", "--no-tokenize")
    cell, _ = cell_of(url, table=make_table(inputs=80), exact=False)
    assert cell.output_tokens == 6 * 6  # of events
    assert cell.tpot_ms.n == 6


@pytest.mark.parametrize(("usage", "missing"), _SERVERS)
def test_a_trial_still_refuses_them(mock_url, cell_of, usage, missing):
    url = mock_url("--usage", usage, "--no-tokenize")
    says = "how many tokens" if missing else "one token"
    with pytest.raises(EngineError, match=says):
        cell_of(url)


def test_a_server_that_counts_is_exact_also_where_an_estimate_would_do(
    mock_url, cell_of, make_table
):
    exact, folder = cell_of(mock_url(), table=make_table(inputs=80), exact=False)
    assert not exact.input_tokens_estimated
    assert "input_tokens" not in exact.comparability
    rows = duckdb.sql(
        f"SELECT DISTINCT input_tokens, input_estimated FROM '{folder}/requests.parquet'"
    ).fetchall()
    assert rows == [(80, False)]
    loose, _ = cell_of(
        mock_url("--usage", "none", "--no-tokenize"), table=make_table(inputs=80), exact=False
    )
    found = comparability.differences(exact.comparability, loose.comparability)
    assert found["input_tokens"] == found["template_overhead_tokens"] == "unknown"


def test_conversations_of_estimated_lengths_are_sent(mock_url, cell_of):
    n = 4
    table = RequestTable(
        format="test", n=n, arrival_ns=np.arange(n, dtype=np.int64) * 10_000_000, grain_ns=1,
        input_tokens=np.array([40, 60, 90, 120], np.int64), output_tokens=np.full(n, 8, np.int64),
        session=np.array([0, 0, 1, 1], np.int64), turn=np.array([0, 1, 0, 1], np.int64),
    )  # fmt: skip
    url = mock_url("--usage", "none", "--no-tokenize")
    cell, _ = cell_of(url, table=table, exact=False)
    assert cell.requests.completed == n


def test_the_verb_says_that_lengths_are_estimates(mock_url, capsys):
    url = mock_url("--usage", "constant", "--no-tokenize")
    options = ["--rate", "40", "--requests", "8", "--output-tokens", "4"]
    code = seatrial(["bench", "--endpoint", url, *options, "--json", "--quiet"])
    found = json.loads(capsys.readouterr().out)
    assert code in (0, 5)  # 5: this machine was too busy to be believed
    assert found["requests"]["completed"] == 8
    assert found["input_tokens_estimated"] is True
    seatrial(["bench", "--endpoint", url, *options, "--quiet"])
    assert "input lengths are estimates" in capsys.readouterr().out
