"""A load ends whatever the server does, by bounds that are stated and told."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from seatrial.loadgen import limits
from seatrial.loadgen.plan import Load

_S = 1_000_000_000


def _finding(cell, name):
    return next((f for f in cell.findings if f.id == name), None)


def _conserved(cell) -> None:
    counts = msgspec.to_builtins(cell.requests)
    assert counts.pop("offered") == sum(counts.values())


@pytest.mark.parametrize("fault", ["endless", "endless_line"])
def test_a_server_that_streams_without_end_meets_the_deadline(mock_url, cell_of, fault):
    cell, _ = cell_of(mock_url(), extra={"mock_fault": fault}, timeout_s=1.0)
    _conserved(cell)
    assert cell.requests.timed_out == cell.requests.offered == 6
    assert cell.bounds["request_s"] == 1.0
    assert "6 requests" in _finding(cell, "deadline").says
    assert _finding(cell, "run-cut") is None


def test_a_closed_loop_of_endless_answers_ends_at_the_runs_bound(
    mock_url, cell_of, make_table, monkeypatch
):
    monkeypatch.setattr(limits, "_PREFILL_PER_S", 1e6)
    load = Load(mode="closed", users=2, connections=2)
    cell, _ = cell_of(
        mock_url(),
        table=make_table(40),
        load=load,
        extra={"mock_fault": "endless"},
        timeout_s=1.0,
        single_s=0.005,
    )
    _conserved(cell)
    assert cell.bounds["run_s"] == pytest.approx(1.6, abs=0.01)
    assert cell.duration_s < 10
    assert cell.requests.offered < 40
    assert cell.requests.timed_out == 2
    assert cell.requests.in_flight == 2
    assert "not sent any more" in _finding(cell, "run-cut").says


def _bounds(load: Load, n: int = 100, outputs: int = 10, **more):
    scheduled = np.arange(n, dtype=np.int64) * _S
    lengths = np.full(n, 100, np.int64), np.full(n, outputs, np.int64)
    return limits.bounds(load, scheduled, *lengths, **more)


def test_the_formulas_of_the_bounds():
    stall = Load(stall_ns=5 * _S)
    found = _bounds(stall)
    assert (found.deadline_ns == 20 * _S).all()  # 2 x 5 s and a second a token
    assert found.run_ns == (99 + 20 + 5) * _S
    assert _bounds(stall, timeout_s=3.0).run_ns == (99 + 3 + 5) * _S
    assert _bounds(stall, turns=4).run_ns == (99 + 4 * 20 + 5) * _S
    capped = Load(stall_ns=5 * _S, max_in_flight=10)
    assert (_bounds(capped).deadline_ns == 200 * _S).all()  # ten rounds
    closed = Load(mode="closed", users=4, stall_ns=5 * _S)
    assert _bounds(closed).run_ns == (25 * 20 + 5) * _S
    # alone each takes 0.1 s and a second of prefill is granted: 3 x 110 s
    assert _bounds(closed, single_s=0.1).run_ns == (20 + 330) * _S
    asked = msgspec.structs.replace(closed, duration_ns=7 * _S)
    assert _bounds(asked).run_ns == 7 * _S
    assert (_bounds(stall, outputs=-1).deadline_ns == (10 + 2048) * _S).all()


def test_answers_that_end_meet_no_bound(mock_url, cell_of):
    cell, _ = cell_of(mock_url())
    assert cell.requests.completed == 6
    assert cell.bounds["request_s"] == 126.0
    assert _finding(cell, "deadline") is None
    assert _finding(cell, "run-cut") is None
