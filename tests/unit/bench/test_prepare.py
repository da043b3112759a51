"""Requests made from tables: exact lengths, conversations, features, cancellations."""

from __future__ import annotations

import sys

import duckdb
import msgspec
import numpy as np
import pytest

from seatrial import engines
from seatrial.bench.calibrate import Calibration
from seatrial.bench.prepare import Cancel, prepare
from seatrial.bench.style import Caller
from seatrial.cli.main import run as seatrial
from seatrial.loadgen.body import Sampling
from seatrial.loadgen.plan import Load
from seatrial.trace.table import RequestTable


def rows(folder, columns):
    return duckdb.sql(
        f"SELECT {columns} FROM '{folder}/requests.parquet' ORDER BY request_id"
    ).fetchall()


@pytest.mark.parametrize("route", ["chat", "completions", "responses", "ollama"])
def test_prompts_have_exactly_the_planned_tokens_by_usage(mock_url, cell_of, make_table, route):
    table = make_table(8, inputs=0)
    table.input_tokens[:] = [9, 17, 40, 64, 65, 128, 300, 1000]
    cell, folder = cell_of(mock_url(), table=table, route=route)
    assert cell.requests.completed == 8
    assert all(a == b for a, b in rows(folder, "input_tokens, planned_input_tokens"))
    assert all(a == b == 6 for a, b in rows(folder, "output_tokens, planned_output_tokens"))


def test_a_request_shorter_than_the_template_is_said(mock_url, cell_of, make_table):
    cell, folder = cell_of(mock_url(), table=make_table(2, inputs=3))
    assert rows(folder, "input_tokens") == [(7,), (7,)]
    assert any("shorter than template" in said for said in cell.assumptions)


def test_conversations_carry_answers_and_keep_the_traced_lengths(mock_url, cell_of):
    inputs = np.array([40, 30, 90, 80, 150], np.int64)
    table = RequestTable(
        format="test",
        n=5,
        arrival_ns=np.array([0, 5, 10, 15, 20], np.int64) * 1_000_000,
        grain_ns=1,
        input_tokens=inputs,
        output_tokens=np.full(5, 8, np.int64),
        session=np.array([0, 1, 0, 1, 0], np.int64),
        turn=np.array([0, 0, 1, 1, 2], np.int64),
    )
    cell, folder = cell_of(mock_url(), table=table)
    assert cell.requests.completed == 5
    got = rows(folder, "session, turn, input_tokens, cached_tokens, sent_ns, done_ns")
    assert [r[2] for r in got] == list(inputs)
    by_turn = {(r[0], r[1]): r for r in got}
    assert by_turn[0, 1][4] >= by_turn[0, 0][5]
    assert by_turn[0, 2][4] >= by_turn[0, 1][5]
    # the history comes back from the prefix cache: full blocks of the turn before
    assert by_turn[0, 1][3] >= 32
    assert by_turn[0, 2][3] >= 80


def test_the_same_seed_gives_the_same_bytes_and_each_start_others(mock_url, make_table):
    caller = Caller(engines.attach(mock_url()), "chat", Sampling())
    sent = [list(prepare(make_table(5), caller, seed).plan.bodies) for seed in (1, 1, 2)]
    assert sent[0] == sent[1]
    assert not set(sent[0]) & set(sent[2])


def test_traced_features_are_in_the_bodies(mock_url, make_table):
    marks = {
        "stream": np.array([True, False, True]),
        "schema": np.array([False, False, True]),
        "tools": np.array([False, True, False]),
    }
    caller = Caller(engines.attach(mock_url()), "chat", Sampling())
    bodies = [
        msgspec.json.decode(b)
        for b in prepare(make_table(3, features=marks), caller, 1).plan.bodies
    ]
    assert [b["stream"] for b in bodies] == [True, False, True]
    assert bodies[2]["response_format"]["type"] == "json_schema"
    assert bodies[1]["tools"][0]["type"] == "function"
    assert ["ignore_eos" in b for b in bodies] == [True, False, False]


def test_a_share_of_the_requests_is_cancelled(mock_url, cell_of, make_table):
    cancel = Cancel(share=0.4, after_tokens=2)
    table = make_table(30, gap_ms=10, outputs=12)
    cell, _ = cell_of(mock_url(), table=table, cancel=cancel)
    n = cell.requests
    assert 5 <= n.cancelled <= 20
    assert n.cancelled + n.completed == 30
    assert cell.failure_rate == 0.0


def test_a_server_that_knows_no_engine_fields_gets_plain_requests(monkeypatch, mock_url):
    from seatrial.bench import style
    from seatrial.engines.http import Reply, call

    def strict(base, method, path, body, **more):
        if b"top_k" in body or b"ignore_eos" in body:
            return Reply(status=400, body=b"unknown field")
        return call(base, method, path, body, **more)

    monkeypatch.setattr(style, "call", strict)
    caller = Caller(engines.attach(mock_url()), "chat", Sampling())
    assert not caller.style.engine_fields
    assert not caller.style.force_length


def test_a_server_that_closes_after_each_stream_loses_no_request(mock_url, cell_of, make_table):
    load = Load(mode="closed", users=3, connections=3)
    cell, folder = cell_of(mock_url("--single-use"), table=make_table(30), load=load)
    assert cell.requests.completed == 30
    assert any(f.id == "single-use-connections" for f in cell.findings)
    assert cell.client.connections == 30
    assert all(r[0] > 0 for r in rows(folder, "connect_ns"))


def test_the_verb_measures_a_trace_and_keeps_the_records(mock_url, tmp_path, capsys, monkeypatch):
    known = Calibration(
        streams=1,
        events_per_s=10.0,
        ttft_error_ms={"mean": 0.1, "p50": 0.1, "p99": 0.2},
        itl_error_share=0.0,
        cpu_s_per_million_tokens=9.0,
        kernel_stamps=True,
        vouched_events_per_s=10.0,
    )
    measure = sys.modules["seatrial.bench.measure"]
    monkeypatch.setattr(measure, "calibrate", lambda streams, rate: known)
    trace = tmp_path / "trace.jsonl"
    lines = [
        msgspec.json.encode({"timestamp": 30 * i, "input_length": 50 + i, "output_length": 4,
                             "hash_ids": [i]}).decode() + "\n"
        for i in range(6)
    ]  # fmt: skip
    trace.write_text("".join(lines))
    out = tmp_path / "out"
    command = ["bench", "--endpoint", mock_url(), "--trace", str(trace), "--out", str(out)]
    code = seatrial([*command, "--json", "--quiet", "--ttft-ms", "1000"])
    document = msgspec.json.decode(capsys.readouterr().out)
    assert code in (0, 5)  # 5: this machine is too busy to be believed, which is said
    assert (code == 5) == (not document["valid"]) == bool(document["invalid_because"])
    assert document["schema"] == "seatrial/bench/1"
    assert document["requests"]["completed"] == 6
    assert document["goodput"] == 1.0
    assert {"mean", "p50", "p90", "p95", "p99"} <= set(document["ttft_ms"])
    assert (out / "requests.parquet").exists()
    assert [r[0] for r in rows(out, "input_tokens")] == [50, 51, 52, 53, 54, 55]


CONTRADICTIONS = [
    [],
    ["--rate", "1", "--concurrency", "2", "--requests", "3"],
    ["--rate", "0", "--requests", "3"],
    ["--rate", "2"],
    ["--concurrency", "2", "--requests", "4", "--route", "smoke"],
    ["--search-goodput", "--rate", "2", "--requests", "5"],
    ["--rate", "2", "--requests", "5", "--cancel-share", "0.5"],
    ["--rate", "2", "--requests", "5", "--api-key-env", "NO_SUCH_VARIABLE_HERE"],
]


def test_contradictions_are_bad_input(mock_url, capsys):
    url = mock_url()
    for options in CONTRADICTIONS:
        assert seatrial(["bench", "--endpoint", url, *options]) == 2, options
        assert "do:" in capsys.readouterr().err
