"""Exact replay of bodies and times."""

from __future__ import annotations

import json

import duckdb
import pytest

from seatrial.bench.replay import load
from seatrial.core.errors import UsageError


def body(i: int, **more):
    said = [{"role": "user", "content": f"own words {i} ünï"}]
    return {"model": "mock", "messages": said, "max_tokens": 3 + i, "stream": True, **more}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_bodies_go_out_as_they_are_at_their_times(tmp_path, mock_url, cell_of):
    usage = {"ignore_eos": True, "stream_options": {"include_usage": True}}
    rows = [{"timestamp": 5000 + 40 * i, "body": body(i, **usage)} for i in (0, 2, 1)]
    replay = load(write(tmp_path / "b.jsonl", rows))
    assert list(replay.table.arrival_ns) == [0, 40_000_000, 80_000_000]
    sent = [json.loads(b) for b in replay.bodies()]
    assert sent == [body(0, **usage), body(1, **usage), body(2, **usage)]
    cell, folder = cell_of(mock_url(), table=replay.table, replay=replay)
    assert cell.requests.completed == 3
    got = duckdb.sql(
        f"SELECT output_tokens, (scheduled_ns - min(scheduled_ns) OVER ()) // 1000000 AS at"
        f" FROM '{folder}/requests.parquet' ORDER BY request_id"
    ).fetchall()
    assert got == [(3, 0), (4, 40), (5, 80)]
    assert cell.comparability["trace"] == replay.sha256
    assert cell.comparability["forced_length"] is False


def test_a_text_body_is_sent_byte_for_byte(tmp_path):
    text = '{"messages": [ ],   "odd": 1e0}'
    replay = load(write(tmp_path / "b.jsonl", [{"timestamp": 0, "body": text}]))
    assert list(replay.bodies()) == [text.encode()]


def test_delays_and_sessions(tmp_path):
    rows = [{"delay": 10, "session": "a", "body": body(0)}, {"delay": 5, "session": "a",
            "body": body(1)}]  # fmt: skip
    table = load(write(tmp_path / "b.jsonl", rows)).table
    assert list(table.arrival_ns) == [0, 5_000_000]
    assert list(table.turn) == [0, 1]


def test_bare_bodies_have_no_times(tmp_path):
    table = load(write(tmp_path / "b.jsonl", [body(0), body(1)])).table
    assert table.arrival_ns is None
    assert list(table.output_tokens) == [3, 4]


@pytest.mark.parametrize(
    "rows", [[], [[1]], [{"a": 1}], [{"timestamp": 1, "body": {}}, {"body": {}}]]
)
def test_what_is_no_file_of_bodies_is_refused(tmp_path, rows):
    with pytest.raises(UsageError):
        load(write(tmp_path / "b.jsonl", rows))
