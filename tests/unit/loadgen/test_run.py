"""The whole way: plan, workers, wire, spool, reading, records, against the mock engine."""

from __future__ import annotations

import asyncio
import itertools

import duckdb
import numpy as np
import pytest

from seatrial.core.errors import EngineError
from seatrial.loadgen import run as run_module
from seatrial.loadgen.metrics import Itl, Ttft
from seatrial.loadgen.plan import Load, Target
from seatrial.loadgen.records import write_parquet
from seatrial.mock.faults import FAULTS


def conserved(run):
    counts = run.records.counts()
    assert sum(counts.values()) == run.records.n
    return counts


@pytest.mark.parametrize("route", ["chat", "completions", "responses", "ollama"])
def test_every_route_gives_tokens_times_and_usage(mock, drive, route):
    run = drive(mock(), 4, route=route)
    records = run.records
    assert conserved(run)["completed"] == 4
    assert list(records.ints["output_tokens"]) == [5] * 4
    assert records.usage_given.all()
    assert (np.diff(records.event_offsets) == 5).all()
    ints = records.ints
    order = ("scheduled_ns", "sent_ns", "first_byte_ns", "first_token_ns", "last_token_ns")
    for earlier, later in itertools.pairwise(order):
        assert (ints[earlier] <= ints[later]).all()
    assert (ints["last_token_ns"] <= ints["done_ns"]).all()


@pytest.mark.parametrize("route", ["chat", "ollama"])
def test_answers_read_along_by_the_parent_come_to_the_same(mock, drive, monkeypatch, route):
    server = mock()
    after = drive(server, 9, route=route, workers=2, keep_text=True).records
    monkeypatch.setattr(run_module, "READ_ALONG", 0)
    along = drive(server, 9, route=route, workers=2, keep_text=True).records
    assert along.counts() == after.counts()
    assert along.text == after.text
    assert len(along.text) == 9
    for name in ("index", "input_tokens", "output_tokens", "http_status"):
        assert (along.ints[name] == after.ints[name]).all(), name
    assert (along.event_offsets == after.event_offsets).all()
    for records in (along, after):
        last = records.event_ns[records.event_offsets[1:] - 1]
        assert (last == records.ints["last_token_ns"]).all()


def reading_errors_ms(run, server):
    """First token as the client stamped it less as the server wrote it, of each completed one."""
    ints = run.records.ints
    truth = {int(t["request_id"].rpartition("-")[2]): t["first_token_ns"] for t in server.truth()}
    done = np.flatnonzero(run.records.completed)
    return np.array([ints["first_token_ns"][i] - truth[ints["index"][i]] for i in done]) / 1e6


def test_the_first_token_is_stamped_as_the_server_wrote_it(mock, drive):
    server = mock("--base-us", "20000")
    run = drive(server, 10, scheduled_ns=np.arange(10) * 60_000_000)
    # The role-only delta came at once; the first token a step later.
    assert Ttft.values(run.records).min() > 19
    assert np.abs(np.median(reading_errors_ms(run, server))) < 3


def test_an_answer_without_streaming_has_its_end_as_first_token(mock, drive):
    run = drive(mock(), 3, stream=False)
    assert conserved(run)["completed"] == 3
    ints = run.records.ints
    assert (ints["first_token_ns"] == ints["last_token_ns"]).all()
    assert all("not_streamed" in found for found in run.records.findings)


EXPECTED = {
    "http_500": ("failed", "http_500"),
    "http_429": ("failed", "http_429"),
    "error_in_200": ("failed", "error_in_200"),
    "error_mid": ("cut", "error_in_200"),
    "reset_before": ("failed", "reset"),
    "reset_headers": ("failed", "reset"),
    "reset_mid": ("cut", "reset"),
    "eof_mid": ("cut", "eof"),
    "cut": ("cut", "whole"),
    "stall": ("timed_out", "stall"),
    "hang": ("timed_out", "stall"),
    "malformed_json": ("failed", "malformed_json"),
    "malformed_mid": ("completed", None),
    "cut_json": ("cut", "eof"),
    "wrong_usage": ("completed", None),
    "no_usage": ("completed", None),
    "no_done": ("completed", None),
    "trailing_garbage": ("completed", None),
    "slow_accept": ("completed", None),
    "early_stop": ("completed", None),
    "endless": ("timed_out", "deadline"),
    "endless_line": ("timed_out", "deadline"),
}
FINDING = {
    "malformed_mid": "malformed_event",
    "cut_json": "cut_event",
    "wrong_usage": "wrong_usage",
    "no_usage": "no_usage",
    "no_done": "no_done",
    "early_stop": "output_length_differs",
    "endless_line": "cut_event",
}


def test_every_fault_of_the_mock_has_an_expectation():
    assert set(EXPECTED) == set(FAULTS)


def test_every_fault_ends_in_the_right_status(mock, drive, make_bodies):
    faults = sorted(EXPECTED)
    own = [make_bodies(1, 6, mock_fault=fault)[0] for fault in faults]
    load = Load(connections=4, stall_ns=1_000_000_000)
    deadline = np.array([2 * 10**9 if "endless" in fault else -1 for fault in faults])
    run = drive(mock(), len(faults), tokens=6, own_bodies=own, load=load, deadline_ns=deadline)
    conserved(run)
    records = run.records
    for i, fault in enumerate(faults):
        status, kind = EXPECTED[fault]
        assert records.is_status(status)[i], (fault, records.error[i])
        assert records.error_kind[i] == kind, fault
        if fault in FINDING:
            assert FINDING[fault] in records.findings[i], fault
        if fault in ("wrong_usage", "no_usage"):
            assert records.ints["output_tokens"][i] == 6
    assert run.client.stray or records.cell_findings["trailing_bytes"]


def test_failures_do_not_move_the_latency_of_the_others(mock, drive):
    errors = []
    for faults in ([], ["--fault", "http_500=0.3"]):
        server = mock("--law", "fixed", "--ttft-ms", "50", "--itl-ms", "5", *faults)
        run = drive(server, 40)
        counts = conserved(run)
        assert counts["failed"] + counts["completed"] == 40
        assert bool(faults) == (4 <= counts["failed"] <= 22)
        errors.append(np.median(reading_errors_ms(run, server)))
    # each is the server's own time, failures or not, however busy this machine is
    assert max(np.abs(errors)) < 3


def test_a_refused_connection_is_a_failure_of_each_request(mock, drive):
    server = mock()
    load = Load(connections=0, fresh=True)
    target = server.target()
    server.stop()
    run = drive(server, 3, load=load, target=target)
    assert conserved(run)["failed"] == 3
    assert run.records.error_kind == ["connect"] * 3


def test_nothing_listening_is_an_engine_error(drive):
    target = Target(host="127.0.0.1", port=9, path="/v1/chat/completions", route="chat")
    with pytest.raises(EngineError, match="cannot connect"):
        drive(None, 1, target=target)


def test_cancellation_by_tokens_and_by_time_reaches_the_server(mock, drive):
    server = mock("--law", "fixed", "--ttft-ms", "20", "--itl-ms", "10")
    none = np.full(4, -1, np.int64)
    by_tokens, by_time = none.copy(), none.copy()
    by_tokens[:2] = 3
    by_time[2] = 100_000_000
    run = drive(server, 4, tokens=40, cancel_tokens=by_tokens, cancel_ns=by_time)
    counts = conserved(run)
    assert (counts["cancelled"], counts["completed"]) == (3, 1)
    tokens = np.diff(run.records.event_offsets)
    assert (tokens[:2] >= 3).all()  # a read may bring several
    assert (tokens[:3] < 40).all()
    assert sum(t["aborted"] for t in server.truth()) == 3


def test_the_end_of_the_window_leaves_requests_in_flight(mock, drive):
    server = mock("--law", "fixed", "--ttft-ms", "10", "--itl-ms", "20")
    load = Load(mode="closed", users=4, connections=4, duration_ns=300_000_000)
    run = drive(server, 50, tokens=20, load=load)
    counts = conserved(run)
    assert counts["in_flight"] == 4
    assert counts["completed"] == 0
    assert run.records.n < 50


def test_a_closed_loop_never_has_more_than_its_users_in_flight(mock, drive):
    server = mock("--law", "fixed", "--ttft-ms", "20", "--itl-ms", "2")
    run = drive(server, 20, load=Load(mode="closed", users=3, connections=3))
    assert conserved(run)["completed"] == 20
    ints = run.records.ints
    moments = [(t, 1) for t in ints["sent_ns"]] + [(t, -1) for t in ints["last_token_ns"]]
    assert np.cumsum([d for _, d in sorted(moments)]).max() <= 3


def test_think_time_is_the_same_for_the_same_seed(mock, drive):
    server = mock("--law", "fixed", "--ttft-ms", "5", "--itl-ms", "1")
    load = Load(mode="closed", users=1, connections=1, think_ns=20_000_000)
    gaps = []
    for _ in range(2):
        ints = drive(server, 6, load=load).records.ints
        gaps.append(ints["scheduled_ns"][1:] - ints["done_ns"][:-1])
    assert (gaps[0] == gaps[1]).all()
    assert gaps[0].std() > 0


def test_a_cap_on_requests_in_flight_counts_the_wait_as_latency(mock, drive):
    server = mock("--law", "fixed", "--ttft-ms", "40", "--itl-ms", "1")
    run = drive(server, 4, load=Load(connections=1, max_in_flight=1), scheduled_ns=np.zeros(4, int))
    ttft = Ttft.of_each(run.records)
    assert (np.diff(np.sort(ttft)) > 35).all()


def test_two_workers_share_the_load_on_one_clock(mock, drive):
    run = drive(mock(), 20, workers=2)
    assert conserved(run)["completed"] == 20
    assert list(run.records.ints["index"]) == list(range(20))
    spread = np.diff(run.records.ints["sent_ns"])
    assert spread.max() < 60_000_000


def test_sessions_wait_for_the_last_turn_and_carry_its_answer(mock, drive):
    server = mock("--law", "fixed", "--ttft-ms", "30", "--itl-ms", "1")
    import json

    first = {"role": "user", "content": "a b c"}
    answer = {"role": "assistant", "content": "@@seatrial-answer-0@@"}
    fields = {"model": "mock", "stream": True, "max_tokens": 5, "ignore_eos": True}
    fields["stream_options"] = {"include_usage": True}
    turns = [[first], [first, answer, {"role": "user", "content": "d"}]]
    own = [json.dumps({**fields, "messages": turn}).encode() for turn in turns]
    run = drive(
        server,
        2,
        own_bodies=own,
        scheduled_ns=np.zeros(2, np.int64),
        session=np.zeros(2, np.int64),
        turn=np.arange(2),
    )
    ints = run.records.ints
    assert conserved(run)["completed"] == 2
    assert ints["sent_ns"][1] >= ints["done_ns"][0]
    # template 3 + 3 a message: 3 + (3 + 3) and 3 + (3 + 3) + (3 + 5) + (3 + 1)
    assert list(ints["input_tokens"]) == [9, 21]


def test_tls_is_spoken_and_certificates_are_checked(mock, drive, tls_files):
    cert, key = tls_files
    server = mock("--tls-cert", str(cert), "--tls-key", str(key))
    good = server.target(tls=True, ca_file=str(cert))
    assert conserved(drive(server, 3, target=good))["completed"] == 3
    with pytest.raises(EngineError, match="certificate"):
        drive(server, 1, target=server.target(tls=True))


def test_crlf_streams_and_bursts_are_read(mock, drive):
    run = drive(mock("--crlf", "--burst", "3"), 3, tokens=7)
    assert conserved(run)["completed"] == 3
    assert list(np.diff(run.records.event_offsets)) == [3, 3, 3]
    assert list(run.records.ints["output_tokens"]) == [7, 7, 7]


def test_reasoning_is_a_first_token_and_is_told_apart(mock, drive):
    records = drive(mock("--reasoning-tokens", "2"), 3, tokens=6).records
    ints = records.ints
    third = records.event_ns[records.event_offsets[:-1] + 2]
    assert (ints["first_token_ns"] == ints["first_reasoning_ns"]).all()
    assert (ints["first_text_ns"] == third).all()  # two events in one read share a stamp


def test_a_stall_inside_an_answer_stays_visible(mock, drive):
    server = mock("--law", "fixed", "--ttft-ms", "5", "--itl-ms", "40")
    run = drive(server, 2, tokens=5)
    assert Itl.of_each(run.records).min() > 35


def test_the_records_are_readable_with_duckdb_alone(mock, drive, tmp_path):
    run = drive(mock(), 5, features={"mock_fault": "reset_mid"})
    path = tmp_path / "requests.parquet"
    write_parquet(run.records, path, rows_at_once=2)
    rows = duckdb.sql(
        f"SELECT request_id, status, error_kind, last_token_ns - first_token_ns, len(event_ns),"
        f" event_ns[1] = first_token_ns, cached_tokens FROM '{path}' ORDER BY request_id"
    ).fetchall()
    assert [r[0] for r in rows] == [0, 1, 2, 3, 4]
    assert {r[1:3] for r in rows} == {("cut", "reset")}
    assert {r[4] for r in rows} == {2}
    assert all(r[5] for r in rows)
    assert {r[6] for r in rows} == {None}


def test_a_large_body_that_does_not_fit_the_socket_is_sent_whole(mock, drive):
    import json

    text = "word " * 400_000
    own = [
        json.dumps(
            {"messages": [{"role": "user", "content": text}], "max_tokens": 2, "stream": True}
        ).encode()
    ]
    server = mock("--context-tokens", "1000000", "--law", "fixed", "--ttft-ms", "1")
    run = drive(server, 1, own_bodies=own, load=Load(connections=1, stall_ns=20_000_000_000))
    assert conserved(run)["completed"] == 1


def test_the_timer_is_never_early():
    from seatrial.core.timer import Timer

    async def late_by() -> int:
        import time

        loop = asyncio.get_running_loop()
        done = loop.create_future()
        due = time.perf_counter_ns() + 3_000_000
        timer = Timer(loop, lambda: done.set_result(time.perf_counter_ns() - due))
        timer.set(due)
        late = await done
        timer.close()
        return late

    assert asyncio.run(late_by()) >= 0
