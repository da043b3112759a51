"""Numbers of a cell from records made by hand, and the documentation of the metrics."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from seatrial.bench import summary
from seatrial.loadgen.metrics import METRICS, E2e, Fluidity, Itl, ItlPerToken, Tpot, Ttft, Ttst


def test_every_definition_on_one_request(make_records):
    # scheduled at 10 ms, sent at 12, tokens at 110, 130, 170 ms
    records = make_records([(10, 12, 110, 170, 3)], events=[[110, 130, 170]])
    assert Ttft.values(records) == [100.0]
    assert Ttst.values(records) == [120.0]
    assert list(Itl.values(records)) == [20.0, 40.0]
    assert Tpot.values(records) == [30.0]
    assert E2e.values(records) == [160.0]


def test_several_tokens_an_event(make_records):
    records = make_records([(0, 0, 100, 160, 9)], events=[[100, 130, 160]])
    assert list(Itl.values(records)) == [30.0, 30.0]
    assert list(ItlPerToken.values(records)) == [10.0, 10.0]
    assert Tpot.values(records) == [60 / 8]


def test_only_completed_requests_count(make_records):
    records = make_records([(0, 0, 100, 200, 5), (0, 0, 9000, 9900, 5)], ["completed", "cut"])
    assert list(Ttft.values(records)) == [100.0]
    assert Itl.values(records).max() == 25.0


def test_fluidity_gives_slack_and_sets_the_schedule_anew_after_a_miss(make_records):
    # targets 100 and 10: deadlines 100, 110, 120; then 150 is late, its successor is due at 160
    records = make_records([(0, 0, 50, 160, 5)], events=[[50, 110, 119, 150, 160]])
    assert list(Fluidity.of_targets(records, 100, 10)) == [0.8]


def test_short_requests_behind_long_ones_are_seen(make_records):
    rows = [(0, 0, 500 if i % 2 else 20, 600, 2 + 50 * (i % 2)) for i in range(40)]
    classes = [c for c in summary.by_length(make_records(rows)) if c["kind"] == "output"]
    assert sum(c["n"] for c in classes) == 40
    assert classes[0]["ttft_ms"]["p50"] < 300


def test_a_cells_summary_has_order_statistic_intervals():
    values = np.arange(1, 1001, dtype=float)
    found = summary.summary(values)
    assert found.n == 1000
    assert found.intervals["p99"].low <= found.p99 <= found.intervals["p99"].high
    nothing = summary.summary(values[:0])
    assert (nothing.mean, nothing.n) == (None, 0)
    assert msgspec.json.encode(nothing)


def test_the_documentation_holds_the_metrics_as_they_are(repo_root):
    text = (repo_root / "docs" / "method" / "metrics.md").read_text()
    table = text.partition("<!-- metrics: begin -->\n")[2].partition("<!-- metrics: end -->")[0]
    rows = [f"| {m.title} `{m.name}` | {m.unit} | {m.formula} | {m.applies} |" for m in METRICS]
    assert table.splitlines()[2:] == rows


@pytest.mark.parametrize("metric", METRICS)
def test_no_metric_needs_a_request(make_records, metric):
    assert len(metric.values(make_records([]))) == 0
