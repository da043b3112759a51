"""``seatrial bench WORKLOAD``: the workload's traffic and SLO against a server."""

from __future__ import annotations

import json

import pytest

from seatrial.cli.main import run as seatrial

_WORKLOAD = """
schema: seatrial/workload/1
name: small
model: {path: ./model}
traffic: {trace: ./requests.csv}
slo: {ttft_ms: {p95: 5000}}
"""


@pytest.fixture
def workload(tmp_path):
    path = tmp_path / "workload.yaml"
    path.write_text(_WORKLOAD)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"model_type": "llama"}')
    rows = [f"{i * 0.03:.2f},24,5" for i in range(12)]
    table = "\n".join(["arrival_s,input_tokens,output_tokens", *rows, ""])
    (tmp_path / "requests.csv").write_text(table)
    return path


def test_its_traffic_goes_to_the_endpoint(workload, mock_url, capsys, tmp_path):
    out = tmp_path / "cell"
    options = ["--endpoint", mock_url(), "--out", str(out), "--json", "--quiet"]
    assert seatrial(["bench", str(workload), *options]) in (0, 5)
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "seatrial/bench/1"
    assert found["requests"]["completed"] == 12
    assert found["output_tokens"] == 60
    assert found["goodput"] is not None
    assert json.loads((out / "cell.json").read_text())["requests"]["completed"] == 12


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rate", "3", "--endpoint", "http://127.0.0.1:1"], "its own traffic"),
        ([], "no candidates"),
    ],
)
def test_what_contradicts_a_workload_is_bad_input(workload, capsys, options, says):
    assert seatrial(["bench", str(workload), *options]) == 2
    assert says in capsys.readouterr().err


def test_neither_workload_nor_endpoint_is_bad_input(capsys):
    assert seatrial(["bench"]) == 2
    assert "nothing to measure" in capsys.readouterr().err
