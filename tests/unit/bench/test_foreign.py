"""Other tools' results: recognised, graded, with their own definitions and what they lack."""

from __future__ import annotations

import json

import pytest

from seatrial.bench.foreign import read
from seatrial.bench.foreign.evidence import comparable
from seatrial.cli.main import run as seatrial
from seatrial.core.errors import UsageError

VLLM = {
    "model_id": "m",
    "completed": 4,
    "failed": 1,
    "duration": 2.0,
    "total_output_tokens": 80,
    "output_throughput": 40.0,
    "request_rate": 2.0,
    "mean_ttft_ms": 30.0,
    "median_ttft_ms": 29.0,
    "p99_ttft_ms": 60.0,
    "mean_tpot_ms": 5.0,
    "mean_itl_ms": 5.5,
}
SGLANG = {**VLLM, "mean_e2e_latency_ms": 120.0, "p99_e2e_latency_ms": 200.0}
GUIDELLM = {
    "metadata": {"guidellm_version": "0.8.1"},
    "benchmarks": [
        {
            "duration": 10.0,
            "config": {"strategy": {"type_": "constant", "rate": 2}},
            "metrics": {
                "request_totals": {"successful": 9, "errored": 1, "incomplete": 0, "total": 10},
                "request_latency": {
                    "successful": {"mean": 1.5, "count": 9, "percentiles": {"p50": 1.4}}
                },
                "time_to_first_token_ms": {
                    "successful": {"mean": 40.0, "percentiles": {"p50": 39.0, "p99": 90.0}}
                },
                "time_per_output_token_ms": {"successful": {"mean": 9.0}},
            },
        }
    ],
}


def aiperf_row(i, *, error=None, cancelled=False):
    return {
        "metadata": {
            "session_num": i,
            "request_start_ns": 1_000_000_000 + i * 100_000_000,
            "request_end_ns": 1_500_000_000 + i * 100_000_000,
            "was_cancelled": cancelled,
        },
        "metrics": {}
        if error
        else {
            "time_to_first_token": {"value": 20.0 + i, "unit": "ms"},
            "request_latency": {"value": 0.5, "unit": "s"},
            "output_sequence_length": {"value": 10, "unit": "tokens"},
        },
        "error": error,
    }


@pytest.fixture
def written(tmp_path):
    def write(value, name="result.json"):
        path = tmp_path / name
        if isinstance(value, list):
            path.write_text("".join(json.dumps(row) + "\n" for row in value))
        else:
            path.write_text(json.dumps(value))
        return path

    return write


def test_vllm_aggregate_and_detailed(written):
    (found,) = read(written(VLLM))
    assert (found.tool, found.grade) == ("vllm bench", "aggregate")
    assert found.requests["offered"] == 5
    assert found.metrics["ttft_ms"].statistics["p50"] == 29.0
    assert "e2e_ms" not in found.metrics
    (detailed,) = read(written({**VLLM, "ttfts": [0.01, 0.03]}))
    assert detailed.grade == "records"
    assert detailed.metrics["ttft_ms"].statistics["mean"] == pytest.approx(20.0)


def test_sglang_lines_are_one_evidence_each(written):
    found = read(written([SGLANG, SGLANG]))
    assert [e.tool for e in found] == ["sglang bench"] * 2
    assert found[0].metrics["e2e_ms"].statistics["p99"] == 200.0


def test_aiperf_records_keep_failures_apart(written):
    rows = [aiperf_row(0), aiperf_row(1), aiperf_row(2, error={"code": 500}),
            aiperf_row(3, cancelled=True)]  # fmt: skip
    (found,) = read(written(rows, "profile_export.jsonl"))
    assert found.grade == "records"
    assert found.requests == {"offered": 4, "completed": 2, "failed": 1, "cancelled": 1}
    assert found.metrics["ttft_ms"].statistics["mean"] == pytest.approx(20.5)
    assert found.metrics["e2e_ms"].statistics["mean"] == pytest.approx(500.0)
    assert found.output_tokens == 20
    assert found.duration_s == pytest.approx(0.8)


def test_aiperf_aggregate(written):
    value = {
        "schema_version": "1.4",
        "time_to_first_token": {"unit": "ms", "avg": 12.0, "p99": 30.0, "count": 5},
        "request_count": {"unit": "requests", "avg": 5.0},
        "input_config": {"loadgen": {"concurrency": 2}},
    }
    (found,) = read(written(value))
    assert (found.tool, found.grade) == ("aiperf", "aggregate")
    assert found.metrics["ttft_ms"].n == 5


def test_guidellm_says_what_it_lost_and_its_tpot_is_another_number(written):
    (guide,) = read(written(GUIDELLM))
    assert guide.requests["failed"] == 1
    assert guide.metrics["e2e_ms"].statistics["mean"] == 1500.0
    assert any("stalls are lost" in item for item in guide.missing)
    (vllm,) = read(written(VLLM, "v.json"))
    assert not comparable(guide.metrics["tpot_ms"], vllm.metrics["tpot_ms"])
    assert comparable(vllm.metrics["tpot_ms"], vllm.metrics["tpot_ms"])


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "nonsense", '{"a": 1}\n{"b"', '{"benchmarks": []}', "[" * 5000]
)
def test_anything_else_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError):
        read(path)


def test_hostile_values_do_not_raise(written):
    (found,) = read(written({**VLLM, "mean_ttft_ms": "x", "completed": None, "ttfts": [{}, "a"]}))
    assert found.requests["completed"] is None
    read(written([{"metadata": {"request_start_ns": "x"}, "metrics": {"time_to_first_token": 3}}]))


def test_the_verbs_write_evidence_and_exports(written, tmp_path, capsys, cell_of, mock_url):
    assert seatrial(["import", str(written(VLLM)), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "seatrial/import/1"
    assert document["evidence"][0]["grade"] == "aggregate"

    from seatrial.store import write

    cell, folder = cell_of(mock_url())
    write(folder / "cell.json", cell)
    assert seatrial(["export", str(folder), "--to", "llm-d"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["version"] == "0.2.1"
    aggregate = report["results"]["request_performance"]["aggregate"]
    assert aggregate["requests"]["total"] == 6
    assert aggregate["latency"]["time_to_first_token"]["units"] == "ms"
    assert seatrial(["export", str(folder), "--to", "prometheus"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(("# ", "seatrial_")) for line in lines)
    assert 'seatrial_requests{candidate="mock",start="1",status="completed"} 6.0' in lines


def test_a_mooncake_trace_comes_back_as_it_went(tmp_path, make_table, capsys):
    from seatrial import trace
    from seatrial.bench.exports import mooncake_lines

    path = tmp_path / "trace.jsonl"
    import numpy as np

    from seatrial.trace.table import Blocks

    blocks = Blocks(np.array([0, 2, 4, 5]), np.array([1, 2, 1, 3, 9]), 512)
    table = make_table(3, gap_ms=40, inputs=1000, outputs=7, blocks=blocks)
    path.write_text("".join(mooncake_lines(table)))
    back = trace.load([str(path)])
    assert list(back.input_tokens) == [1000] * 3
    assert list(back.output_tokens) == [7] * 3
    assert list(back.arrival_ns) == [0, 40_000_000, 80_000_000]
    assert list(np.diff(back.blocks.offsets)) == [2, 2, 1]
