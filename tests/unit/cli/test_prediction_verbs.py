"""sim, capacity and whatif from the command line, on a trial whose truth is known."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import pytest

from seatrial.bench.cell import SCHEMA, Cell, ClientReport, Counts, Summary
from seatrial.cli.main import run
from seatrial.core.ids import sha256_file
from seatrial.core.provenance import provenance
from seatrial.fit.cost import StepCost
from seatrial.sim import POLICIES, Limits, poisson
from seatrial.sim.frozen import SEAL, path_of, predict, score, scored
from seatrial.sim.load import make_load
from seatrial.sim.result import Step
from seatrial.sim.state import State
from seatrial.sim.steps import step_loop
from seatrial.store import write

COST = StepCost(step=0.02, prefill=1e-3, decode=2e-3)
LIMITS = Limits(max_seqs=4, token_budget=2048, blocks=128, reserve_tokens=512)
NONE = Summary(mean=None, p50=None, p90=None, p95=None, p99=None, n=0)
CANDIDATE = "llama.cpp-newest-q8_0"


def write_cell(trial: Path, start: int, rate: float, seal: Path | None = None) -> None:
    load = poisson(40, rate, 60, 30, seed=start)
    load = make_load(load.arrival, np.minimum(load.input, 200), np.minimum(load.output, 100))
    tokens: list[list[float]] = [[] for _ in range(load.n)]
    seen = [0] * load.n

    def watch(step: Step, state: State) -> None:
        for s in state.running:
            if s.generated > seen[s.number]:
                seen[s.number] = s.generated
                tokens[s.number].append(step.ended)

    result = step_loop(load, POLICIES["chunked-prefill"], LIMITS, COST, watch=watch)
    rows = []
    for i in range(load.n):
        events = [*tokens[i][: int(load.output[i]) - 1], float(result.finish[i])]
        ns = [int(t * 1e9) for t in events]
        at = int(load.arrival[i] * 1e9)
        rows.append(
            (i, "completed", at, at, ns[0], ns[-1], int(load.input[i]), int(load.output[i]), 0, ns)
        )
    folder = trial / "cells" / CANDIDATE / f"{start:03d}"
    folder.mkdir(parents=True)
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE r(request_id BIGINT, status VARCHAR, scheduled_ns BIGINT, sent_ns BIGINT, "
        "first_token_ns BIGINT, last_token_ns BIGINT, input_tokens BIGINT, output_tokens BIGINT, "
        "cached_tokens BIGINT, event_ns BIGINT[])"
    )
    con.executemany("INSERT INTO r VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
    con.execute(f"COPY r TO '{folder / 'requests.parquet'}' (FORMAT PARQUET)")
    cell = Cell(
        schema=SCHEMA, candidate=CANDIDATE, start=start, valid=True, invalid_because=[],
        requests=Counts(offered=40, completed=40, failed=0, cancelled=0, timed_out=0, cut=0,
                        in_flight=0),
        ttft_ms=NONE, itl_ms=NONE, tpot_ms=NONE, e2e_ms=NONE, output_tokens=1,
        output_tokens_per_s=1.0, duration_s=1.0, goodput=None, failure_rate=0.0, resources={},
        effective={"slots": 4, "context_tokens": 512, "max_batch_tokens": 2048},
        client=ClientReport(cpu_s=0, cpu_s_per_million_tokens=None, lateness_ms={},
                            loop_lag_ms={}, cpu_share=0),
        findings=[], cold_start_s={}, comparability={"trace": f"rate{rate}"},
        files={SEAL: sha256_file(seal)} if seal else {},
        provenance=provenance(),
    )  # fmt: skip
    write(folder / "cell.json", cell)


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    made = tmp_path / "trial"
    for start, rate in ((1, 0.5), (2, 1.0), (3, 0.5), (4, 1.0)):
        write_cell(made, start, rate)
    return made


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    (tmp_path / "model.gguf").touch()
    path = tmp_path / "w.yaml"
    path.write_text(
        "schema: seatrial/workload/1\nname: w\nmodel: {path: ./model.gguf}\n"
        "traffic: {synthetic: {rate_per_s: 1.0, input_tokens: 60, output_tokens: 30}}\n"
        "slo: {ttft_ms: {p95: 300}, tpot_ms: {p95: 80}}\n"
        "operations: {cold_start_s: 10}\nhardware: {cpu: auto}\n"
        "candidates:\n  - {engine: llama.cpp, artefact: {quantization: Q8_0}}\n"
        "  - {engine: vllm}\n"
    )
    return path


def document(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_sim_validate(trial: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["sim", "validate", str(trial), "--json", "--quiet"]) == 0
    found = document(capsys)
    assert found["held_back"] == "load"
    assert found["median_abs_error"]["tpot_ms.mean"] < 0.1
    assert {row["cell"] for row in found["compared"]} == {
        f"{CANDIDATE}/{i:03d}" for i in range(1, 5)
    }


def test_sim_validate_without_cells_says_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(["sim", "validate", str(tmp_path)]) == 3
    assert "seatrial run" in capsys.readouterr().err


def test_capacity_gives_no_number_to_what_was_not_measured(
    trial: Path, workload: Path, capsys: pytest.CaptureFixture[str]
):
    args = ["capacity", str(workload), "--trial", str(trial), "--json", "--quiet"]
    assert run([*args, "--usd-per-replica-hour", "2"]) == 0
    points = document(capsys)["points"]
    mine = [p for p in points if p["candidate"] == CANDIDATE]
    other = [p for p in points if p["candidate"] != CANDIDATE]
    assert mine[0]["scale"] == 1.0
    assert mine[-1]["replicas"]["best"] > mine[0]["replicas"]["best"]
    assert mine[0]["usd_per_hour"] == 2.0 * mine[0]["replicas"]["best"]
    assert other
    assert {p["basis"] for p in other} == {"not_measured"}
    assert all(p["replicas"]["best"] is None for p in other)


def test_capacity_of_nothing_measured(
    tmp_path: Path, workload: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(["capacity", str(workload), "--trial", str(tmp_path), "--json", "--quiet"]) == 3
    assert {p["basis"] for p in document(capsys)["points"]} == {"not_measured"}


def test_whatif_and_timeline(trial: Path, workload: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["whatif", str(workload), "--trial", str(trial), "--json", "--quiet"]) == 0
    found = document(capsys)
    assert found["basis"].startswith("calibrated")
    assert {"scheduling", "memory", "places"} <= {v["variable"] for v in found["variants"]}
    args = ["sim", "timeline", str(workload), "--trial", str(trial), "--json", "--quiet"]
    assert run(args) == 0
    steps = document(capsys)["steps"]
    assert all(a["ended"] <= b["started"] + 1e-9 for a, b in pairwise(steps))
    assert run([*args, "--policy", "magic"]) == 2


def test_whatif_without_measurement_reads_the_model(
    tmp_path: Path, workload: Path, capsys: pytest.CaptureFixture[str]
):
    code = run(["whatif", str(workload), "--trial", str(tmp_path)])
    assert code == 6  # the model file is empty: no roofline either
    assert "Traceback" not in capsys.readouterr().err


def states(trial: Path) -> dict[int, str]:
    return {one.start: one.status for one in scored(trial)}


def test_predictions_are_frozen_before_and_scored_after(trial: Path):
    made = predict(trial, CANDIDATE, 5)
    assert made is not None
    assert made.cells == [f"{CANDIDATE}/{i:03d}" for i in range(1, 5)]
    path = path_of(trial, CANDIDATE, 5)
    bytes_before = path.read_bytes()
    assert predict(trial, CANDIDATE, 5) == made
    assert path.read_bytes() == bytes_before  # never written twice
    assert states(trial) == {5: "waits"}
    write_cell(trial, 5, 1.0, seal=path)
    rows = score(trial)
    assert {row.metric for row in rows} >= {"tpot_ms.mean", "output_tokens_per_s"}
    assert all(abs(row.error) < 0.5 for row in rows if row.metric == "tpot_ms.mean")
    predict(trial, CANDIDATE, 4)  # its cell is there already
    assert states(trial) == {4: "not_sealed", 5: "counts"}
    assert score(trial) == rows  # a prediction after the fact is shown and does not count


def test_a_prediction_changed_after_the_measurement_does_not_count(trial: Path):
    made = predict(trial, CANDIDATE, 5)
    assert made is not None
    path = path_of(trial, CANDIDATE, 5)
    write_cell(trial, 5, 1.0, seal=path)
    better = [msgspec.structs.replace(one, low=0.0, high=1e9) for one in made.metrics]
    write(path, msgspec.structs.replace(made, metrics=better))
    assert states(trial) == {5: "changed"}
    assert score(trial) == []


def test_sim_score(trial: Path, capsys: pytest.CaptureFixture[str]):
    assert predict(trial, CANDIDATE, 5) is not None
    write_cell(trial, 5, 1.0, seal=path_of(trial, CANDIDATE, 5))
    assert run(["sim", "score", str(trial), "--json"]) == 0
    found = document(capsys)
    assert [one["status"] for one in found["predictions"]] == ["counts"]
    assert 0 <= found["inside"] <= found["judged"]
    assert run(["sim", "score", str(trial)]) == 0
    assert "nothing rests on it" in capsys.readouterr().out


def test_nothing_to_predict_from(tmp_path: Path):
    assert predict(tmp_path, CANDIDATE, 1) is None
    assert score(tmp_path) == []
