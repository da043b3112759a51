"""Planted truth through the whole measuring path: mock engines of known speed, real sockets.

Every cell is a mock engine of its own; the plan says which comes next; the decision reads the
Parquet that the load generator wrote.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from seatrial import engines
from seatrial.bench import Cell, measure
from seatrial.cli.main import run
from seatrial.core.provenance import provenance
from seatrial.core.verdict import Verdict
from seatrial.decide import Decision, decide, read_requests
from seatrial.decide.record import Rollback, Trigger
from seatrial.gate import GateRow, GateTable
from seatrial.plan import make, next_cell
from seatrial.store import write
from seatrial.trace.table import RequestTable
from seatrial.workload import fingerprint
from seatrial.workload.spec import Workload

pytestmark = pytest.mark.slow
REQUESTS = 30


def play(tmp_path: Path, slower: dict[str, float], starts: int = 3) -> tuple[Decision, list[Cell]]:
    """A trial of mock engines; the value is the factor on the mock's times."""
    spec = msgspec.convert(
        {
            "schema": "seatrial/workload/1",
            "name": "mock",
            "model": {"path": "mock"},
            "slo": {"tpot_ms": {"p95": 60}, "ttft_ms": {"p95": 2000}},
            "trial": {"starts": starts, "seed": 1, "margin": 0.05},
        },
        Workload,
    )
    rows = [
        GateRow(candidate=n, engine="vllm", version="1", verdict=Verdict.FEASIBLE, reasons=[])
        for n in slower
    ]
    gate = GateTable(schema="seatrial/gate/1", candidates=rows, provenance=provenance())
    plan = make(spec, gate)
    table = small_table()
    cells: list[Cell] = []
    while (planned := next_cell(plan, cells)) is not None:
        folder = tmp_path / planned.candidate / f"{planned.start:03d}"
        folder.mkdir(parents=True)
        cells.append(one_cell(planned, slower[planned.candidate], table, spec, folder))
    decision = decide(
        spec=spec,
        gate=gate,
        plan=plan,
        cells=cells,
        requests=lambda c: read_requests(
            tmp_path / c.candidate / f"{c.start:03d}" / "requests.parquet"
        ),
    )
    return decision, cells


def small_table() -> RequestTable:
    return RequestTable(
        format="test",
        n=REQUESTS,
        arrival_ns=np.arange(REQUESTS, dtype=np.int64) * 60_000_000,
        grain_ns=1,
        input_tokens=np.full(REQUESTS, 40, np.int64),
        output_tokens=np.full(REQUESTS, 12, np.int64),
    )


def one_cell(planned, factor: float, table: RequestTable, spec: Workload, folder: Path) -> Cell:
    options = ["--law", "fixed", "--ttft-ms", str(80 * factor), "--itl-ms", str(20 * factor)]
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrial.mock", *options], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        return measure(
            engine=engines.attach(url),
            candidate=planned.candidate,
            start=planned.start,
            table=table,
            spec=spec,
            seed=1,
            folder=folder,
            calibrated=False,
        )
    finally:
        process.terminate()
        process.wait(10)


def test_thirty_per_cent_is_found(tmp_path: Path) -> None:
    found, cells = play(tmp_path, {"fast": 1.0, "slow": 1.3})
    assert found.selected in ("fast", None)
    if sum(c.valid for c in cells) < 6:  # the client was late on a busy machine, and said so
        assert all(c.invalid_because for c in cells if not c.valid)
        assert found.outcome == "undecided" or found.selected == "fast"
        return
    assert (found.outcome, found.selected) == ("selected", "fast")
    ratio = found.comparisons[-1].ratio
    assert ratio is not None
    assert ratio.low < 1 / 1.3 * 1.03
    assert ratio.high > 1 / 1.3 * 0.97


def test_the_same_engine_twice_has_no_winner(tmp_path: Path) -> None:
    found, _ = play(tmp_path, {"one": 1.0, "other": 1.0})
    assert found.outcome in ("tie", "undecided")


@pytest.mark.parametrize(("ttft_ms", "code"), [(30, 0), (400, 1)])
def test_watch_probes_what_exports_no_latency(tmp_path: Path, ttft_ms: int, code: int) -> None:
    found, _ = play(tmp_path / "cells", {"only": 1.0}, starts=1)
    trigger = Trigger(
        metric="ttft_ms.p95", threshold=250.0, unit="ms", window="10m", promql=None, says="x"
    )
    back = Rollback(trigger=trigger, warnings=[], previous=None, previous_because="")
    folder = tmp_path / "t"
    spec = msgspec.convert(
        {"schema": "seatrial/workload/1", "name": "w", "model": {"path": "m"}}, Workload
    )
    row = GateRow(
        candidate="only", engine="llama.cpp", version="1", verdict=Verdict.FEASIBLE, reasons=[]
    )
    gate = GateTable(schema="seatrial/gate/1", candidates=[row], provenance=provenance())
    write(folder / "workload.resolved.json", {"workload": spec})
    write(folder / "gate.json", gate)
    write(folder / "plan.json", make(spec, gate))
    write(folder / "fingerprint.json", fingerprint(small_table()))
    write(
        folder / "decision.json",
        msgspec.structs.replace(found, outcome="selected", selected="only", rollback=back),
    )
    options = ["--law", "fixed", "--ttft-ms", str(ttft_ms), "--itl-ms", "5"]
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrial.mock", *options], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert run(["watch", str(folder), "--endpoint", url, "--probe", "12"]) == code
    finally:
        process.terminate()
        process.wait(10)
