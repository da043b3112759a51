"""Twenty-one ways in which load tests have lied; each is a test here, named by its id.

The catalogue: what users of other tools reported in public issues between 2024 and 2026. A test
shows that this client does not repeat the fault, or says so and voids the cell.
"""

from __future__ import annotations

import json
import threading
import urllib.request

import duckdb
import msgspec
import numpy as np
import pytest

from seatrial.bench import cache, calibrate, client, comparability, counters, summary
from seatrial.bench.measure import load_for
from seatrial.bench.steady import steady
from seatrial.cli.bench_screen import exit_code
from seatrial.core.errors import PrerequisiteError
from seatrial.loadgen import limits
from seatrial.loadgen.body import BodyStyle, Sampling, make_body
from seatrial.loadgen.lexicon import find
from seatrial.loadgen.metrics import METRICS, Itl, Tpot, Ttft
from seatrial.loadgen.plan import Load
from seatrial.loadgen.run import Client
from seatrial.mock.tokens import render_chat
from seatrial.stats import outlying
from seatrial.trace.table import Blocks

CLIENT = Client(
    workers=1,
    cpu_s=1.0,
    wall_s=10.0,
    cpu_share=0.1,
    run_queue_wait_s=0.0,
    kernel_stamps=True,
    receive_delays_ns=[],
    lags_ns=[10_000],
    lateness_ns=[20_000],
    connect_ns=[],
    opened=1,
    stray=0,
    rss_peak_bytes=1,
)


def finding(cell, name):
    return next((f for f in cell.findings if f.id == name), None)


def test_meas_001_a_role_only_frame_is_not_the_first_token(mock_url, cell_of):
    cell, _ = cell_of(mock_url("--law", "fixed", "--ttft-ms", "120", "--itl-ms", "2"))
    assert cell.ttft_ms.p50 >= 119


def test_meas_004_without_usage_the_whole_text_is_counted_once(mock_url, cell_of):
    cell, folder = cell_of(mock_url("--fault", "no_usage=1", "--burst", "3"))
    # six tokens an answer in two events: neither the events nor a BOS an event is the count
    assert cell.output_tokens == 6 * 6
    assert finding(cell, "tokens-from-text").level == "info"
    rows = duckdb.sql(f"SELECT DISTINCT usage_given FROM '{folder}/requests.parquet'").fetchall()
    assert rows == [(False,)]


def test_meas_005_no_cell_meets_the_prompts_of_another(mock_url, cell_of, make_table):
    url = mock_url()
    load = make_table(inputs=300)
    cells = [cell_of(url, table=load, start=start)[0] for start in (1, 2)]
    said = [reason for cell in cells for reason in cell.invalid_because]
    assert not any("prefix cache" in reason for reason in said)
    repeated, _ = cell_of(url, table=load, start=2)
    assert not repeated.valid
    assert any("prefix cache" in reason for reason in repeated.invalid_because)


def test_meas_005_declared_sharing_is_allowed(make_records, make_table):
    lexicon = find(lambda text: len(render_chat([{"role": "user", "content": text}])))
    records = make_records([(0, 0, 10, 20, 5)] * 4, cached=[90] * 4)
    blocks = Blocks(np.arange(5), np.zeros(4, np.int64), 16)
    assert cache.reasons(records, lexicon, make_table(4))
    assert not cache.reasons(records, lexicon, make_table(4, blocks=blocks))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"lateness_ns": [40_000_000] * 50}, "late"),
        ({"cpu_share": 0.97}, "of a core"),
        ({"lags_ns": [60_000_000] * 50, "kernel_stamps": False}, "event loop"),
        ({"run_queue_wait_s": 6.0, "kernel_stamps": False}, "waited for a core"),
    ],
)
def test_meas_008_a_client_that_cannot_keep_up_voids_the_cell(make_records, change, word):
    records = make_records([(0, 0, 100, 200, 10)] * 20)
    assert client.invalid_because(CLIENT, records) == []
    slow = msgspec.structs.replace(CLIENT, **change)
    reasons = client.invalid_because(slow, records)
    assert len(reasons) == 1
    assert word in reasons[0]


def test_meas_008_latency_counts_from_the_schedule(make_records):
    late = make_records([(0, 80, 100, 200, 10)])
    assert list(Ttft.values(late)) == [100.0]


def test_meas_009_every_sampling_field_is_sent_and_part_of_the_key():
    body = json.loads(make_body("m", [], 8, Sampling(), BodyStyle()))
    assert set(msgspec.to_builtins(Sampling())) <= set(body)
    assert body["temperature"] == 0.0
    hashes = {
        comparability.key(
            spec=msgspec.convert(
                {"schema": "seatrial/workload/1", "name": "n", "model": {"path": "m"}},
                comparability.Workload,
            ),
            table=comparability.RequestTable("t", 0, None, None, None, None),
            sampling=sampling,
            lexicon=find(lambda text: len(render_chat([{"role": "user", "content": text}]))),
            effective={},
            hardware=None,
            model_sha256=None,
            route="chat",
            forced_length=True,
        )["sampling"]
        for sampling in (Sampling(), Sampling(temperature=0.7), Sampling(top_k=40))
    }
    assert len(hashes) == 3


def test_meas_012_a_second_bos_parts_the_keys():
    def count(extra: int):
        return lambda text: len(render_chat([{"role": "user", "content": text}])) + extra

    once, twice = find(count(0)), find(count(1))
    assert comparability.differences(
        {"template_overhead_tokens": once.overhead}, {"template_overhead_tokens": twice.overhead}
    ) == {"template_overhead_tokens": "different"}


def test_meas_012_prompt_counts_of_two_engines_are_held_against_each_other(make_records):
    a = make_records([(0, 0, 10, 20, 5)] * 3)
    b = make_records([(0, 0, 10, 20, 5)] * 3)
    assert comparability.prompt_counts_differ(a, b) == []
    b.ints["input_tokens"][1] += 1
    assert comparability.prompt_counts_differ(a, b) == [1]


def test_meas_013_unequal_settings_are_named_field_by_field():
    left = {"context_tokens": 8192, "kv_cache_dtype": "f16", "precision": None}
    right = {"context_tokens": 4096, "kv_cache_dtype": "f16", "precision": "Q4_1"}
    assert comparability.differences(left, right) == {
        "context_tokens": "different",
        "precision": "unknown",
    }


def test_meas_014_foreign_load_voids_the_cell(make_records):
    records = make_records([(0, 0, 10, 20, 100)] * 5)
    quiet = dict.fromkeys(counters._NAMES, 0.0)
    before = counters.Counters(values=quiet)
    ours = counters.Counters(values={**quiet, "output_tokens": 500.0})
    theirs = counters.Counters(values={**quiet, "output_tokens": 900.0})
    busy = counters.Counters(values={**quiet, "running": 3.0})
    assert counters.judge(before, ours, records)[0] == []
    assert "others used it" in counters.judge(before, theirs, records)[0][0]
    assert "were running" in counters.judge(busy, ours, records)[0][0]


def test_meas_016_buffered_streams_give_no_itl(mock_url, cell_of, make_table):
    cell, _ = cell_of(mock_url("--burst", "10"), table=make_table(outputs=40))
    assert cell.itl_ms.n == 0
    assert cell.itl_ms.p50 is None
    assert cell.tpot_ms.n > 0
    assert finding(cell, "itl-unusable") is not None


def test_meas_019_a_server_that_is_healthy_and_answers_nothing_is_seen(mock_url, cell_of):
    url = mock_url()
    load = Load(connections=2, stall_ns=400_000_000)
    engine_health = urllib.request.urlopen(url + "/health", timeout=5).status
    assert engine_health == 200
    # Only the load hangs: the requests before it (style, prompt counts) are answered.
    hang = {"mock_fault": "hang"}
    cell, _ = cell_of(url, load=load, extra=hang)
    assert cell.requests.timed_out == cell.requests.offered == 6
    assert cell.failure_rate == 1.0
    assert exit_code(cell) == 4


def test_meas_023_cached_tokens_are_told_per_request_and_in_the_findings(
    mock_url, cell_of, make_table
):
    n = 6
    shared = Blocks(np.arange(0, 4 * n + 1, 4), np.tile(np.arange(4), n), 16)
    table = make_table(n, inputs=80, gap_ms=60, blocks=shared)
    on, folder = cell_of(mock_url(), table=table)
    off, _ = cell_of(mock_url("--no-prefix-cache"), table=table)
    told = [finding(cell, "cached-share").says for cell in (on, off)]
    assert told[1].startswith("0.0%")
    assert not told[0].startswith("0.0%")
    cached = duckdb.sql(
        f"SELECT cached_tokens FROM '{folder}/requests.parquet' ORDER BY request_id"
    ).fetchall()
    assert cached[0] == (0,)
    assert all(row[0] >= 64 for row in cached[1:])
    assert "prefix_cache" in on.effective


def test_meas_024_self_agreement_of_one_arm_can_be_taken_under_load(mock_url, spec, tmp_path):
    """Texts are kept where asked for, so that one arm can be held against itself under load."""
    from seatrial.bench.agreement import self_agreement

    found = self_agreement([{0: "a b", 1: "c"}, {0: "a b", 1: "d"}])
    assert (found.best, found.n) == (0.5, 2)
    assert found.low < 0.5 < found.high


def test_meas_028_the_planned_concurrency_is_reached(mock_url, cell_of, make_table):
    n = 150
    url = mock_url("--law", "fixed", "--ttft-ms", "900", "--itl-ms", "10")
    load = Load(mode="closed", users=n, connections=n)
    cell, _ = cell_of(url, table=make_table(n, outputs=3), load=load)
    assert cell.requests.completed == n
    assert cell.client.in_flight_peak == n


def test_meas_028_too_few_descriptors_or_ports_are_said_before(monkeypatch):
    with pytest.raises(PrerequisiteError, match="files"):
        monkeypatch.setattr(limits.resource, "getrlimit", lambda _: (256, 512))
        limits.check(Load(mode="closed", users=1000), 1000)
    monkeypatch.setattr(limits.resource, "getrlimit", lambda _: (10**6, 10**6))
    with pytest.raises(PrerequisiteError, match="local ports"):
        limits.check(Load(fresh=True), 10**6, fresh_per_s=5000.0)


def test_meas_029_the_steady_window_is_reported_beside_the_whole_run(make_records):
    # ten users, each one answer of 10 s after the other; filling and emptying take 10 s each
    rows = [
        (u * 1000 + k * 10_000,) * 2
        + (u * 1000 + k * 10_000 + 100, u * 1000 + (k + 1) * 10_000, 100)
        for u in range(10)
        for k in range(6)
        for at in [u * 1000 + k * 10_000]
    ]
    records = make_records(rows)
    window = steady(records)
    assert window.in_flight == 10
    assert window.start_s == pytest.approx(9.0, abs=1.1)
    assert window.stop_s == pytest.approx(60.0, abs=1.1)
    whole = 100 * 60 / 69.0
    assert window.output_tokens_per_s == pytest.approx(100.0, rel=0.02)
    assert window.output_tokens_per_s > 1.1 * whole
    assert not window.short
    assert steady(make_records(rows[:2])).short


def test_meas_030_a_closed_loop_does_not_begin_all_at_once(make_table, spec):
    offline = msgspec.structs.replace(
        spec, requires=msgspec.structs.replace(spec.requires, concurrency=20)
    )
    table = make_table(40)
    closed = msgspec.structs.replace(offline)
    load = load_for(
        type(table)("t", 40, None, None, table.input_tokens, table.output_tokens), closed
    )
    assert (load.mode, load.users) == ("closed", 20)
    assert load.ramp_ns >= 400_000_000


def test_meas_031_two_modes_of_a_server_are_not_averaged_away():
    """One start a third off is named; it does not hide in a mean of three."""
    y = np.log(np.array([100.0, 101, 99, 100, 66, 110, 111, 109, 110, 111]))
    found = outlying(y, np.repeat([0, 1], 5))
    assert list(np.flatnonzero(found)) == [4]


def test_meas_033_the_floor_of_the_path_is_in_the_result(mock_url, cell_of):
    cell, _ = cell_of(mock_url())
    floor = cell.client.path_floor_ms
    assert 0 < floor["min"] <= floor["p50"] < 100


def test_meas_034_the_clients_own_error_is_published_and_voids(mock_url, cell_of):
    cell, _ = cell_of(mock_url(), calibrated=True)
    found = cell.client.calibration
    assert set(found["ttft_error_ms"]) == {"mean", "p50", "p99"}
    assert abs(found["itl_error_share"]) < 0.05
    known = msgspec.convert(found, calibrate.Calibration)
    wrong = msgspec.structs.replace(
        known,
        ttft_error_ms={"mean": 8.0, "p50": 7.0, "p99": 40.0},
        vouched_events_per_s=None,
    )
    assert calibrate.reasons(wrong, 100.0, 120.0)
    assert calibrate.reasons(wrong, 2000.0, 4000.0) == []


def test_meas_035_an_upgrade_is_compared_on_the_same_requests(mock_url, cell_of):
    """Old and new get byte-equal requests for the same start, so that differences pair."""
    keys = []
    for step_us in ("2000", "4000"):
        cell, _ = cell_of(mock_url("--base-us", step_us))
        keys.append(cell.comparability)
        last = cell
    assert {k: v for k, v in comparability.differences(*keys).items() if v == "different"} == {}
    assert last.tpot_ms.p50 > 4.0


def test_meas_036_every_metric_has_its_formula_and_other_definitions_can_be_computed(
    mock_url, cell_of
):
    assert all(metric.formula and metric.unit and metric.applies for metric in METRICS)
    assert "output_tokens - 1" in Tpot.formula
    cell, folder = cell_of(mock_url())
    ours, with_ttft, per_total = duckdb.sql(
        "SELECT avg((last_token_ns - first_token_ns) / (output_tokens - 1)) / 1e6,"
        " avg((last_token_ns - scheduled_ns) / output_tokens) / 1e6,"
        " avg((list_last(event_ns) - list_first(event_ns)) / (len(event_ns) - 1)) / 1e6"
        f" FROM '{folder}/requests.parquet'"
    ).fetchall()[0]
    assert ours == pytest.approx(cell.tpot_ms.mean)
    assert per_total == pytest.approx(ours)
    assert with_ttft != pytest.approx(ours, rel=0.01)


def test_meas_041_counters_are_differences_and_a_restart_is_seen(make_records):
    records = make_records([(0, 0, 10, 20, 5)])
    before = counters.Counters(values={**dict.fromkeys(counters._NAMES), "prefix_hits": 1000.0})
    after = counters.Counters(values={**dict.fromkeys(counters._NAMES), "prefix_hits": 1040.0})
    assert counters.differences(before, after)["prefix_hits"] == 40.0
    reasons, findings = counters.judge(before, after, records)
    assert reasons == []
    assert "40.0%" in findings[0].says
    assert "restarted" in counters.judge(after, before, records)[0][0]


def test_goodput_counts_failures_as_misses(make_records, spec):
    records = make_records(
        [(0, 0, 100, 200, 5), (0, 0, 900, 950, 5), (0, 0, 100, 200, 5), (0, 0, 100, 200, 5)],
        ["completed", "completed", "failed", "cancelled"],
    )
    assert summary.goodput(records, spec.slo) == pytest.approx(1 / 3)
    assert summary.failure_rate(records) == pytest.approx(1 / 3)
    counts = summary.counts(records)
    assert counts.offered == 4
    assert len(Itl.values(records)) == 2 * 4


def test_two_clients_at_once_do_not_disturb_conservation(mock_url, cell_of):
    url = mock_url()
    results = []
    thread = threading.Thread(target=lambda: results.append(cell_of(url, start=7)[0]))
    thread.start()
    results.append(cell_of(url, start=8)[0])
    thread.join()
    for cell in results:
        counts = msgspec.to_builtins(cell.requests)
        offered = counts.pop("offered")
        assert offered == sum(counts.values())
