"""Cells measured on the mock engine, and records made by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from seatrial import engines
from seatrial.bench import Cell, measure
from seatrial.loadgen.outcome import Outcome
from seatrial.loadgen.records import Records, build, settle_tokens
from seatrial.trace.table import RequestTable
from seatrial.workload.spec import Workload


@pytest.fixture
def mock_url() -> Iterator[Callable[..., str]]:
    """Start a mock engine with these options; returns its address."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*options: str) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "seatrial.mock", *options], stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None
        return json.loads(process.stdout.readline())["url"]

    yield start
    for process in started:
        process.terminate()
        process.wait(10)


def table(n: int = 6, *, gap_ms: int = 20, inputs: int = 40, outputs: int = 6, **more: Any):
    return RequestTable(
        format="test",
        n=n,
        arrival_ns=np.arange(n, dtype=np.int64) * gap_ms * 1_000_000,
        grain_ns=1,
        input_tokens=np.full(n, inputs, np.int64),
        output_tokens=np.full(n, outputs, np.int64),
        **more,
    )


@pytest.fixture
def make_table() -> Callable[..., RequestTable]:
    return table


@pytest.fixture
def spec() -> Workload:
    return msgspec.convert(
        {
            "schema": "seatrial/workload/1",
            "name": "test",
            "model": {"path": "mock"},
            "slo": {"ttft_ms": {"p95": 500}},
        },
        Workload,
    )


@pytest.fixture
def cell_of(tmp_path: Path, spec: Workload) -> Callable[..., tuple[Cell, Path]]:
    """Measure a cell at an address; returns it and its folder."""
    numbers = iter(range(1000))

    def run(url: str, **more: Any) -> tuple[Cell, Path]:
        folder = tmp_path / f"cell-{next(numbers)}"
        folder.mkdir()
        fields = {"table": table(), "start": 1, "seed": 1, "calibrated": False, **more}
        cell = measure(
            engine=engines.attach(url), candidate="mock", spec=spec, folder=folder, **fields
        )
        return cell, folder

    return run


@pytest.fixture
def make_records() -> Callable[..., Records]:
    """Records of requests given as (scheduled, sent, first, last, tokens) in ms, and statuses."""

    def make(
        rows: list[tuple[float, float, float, float, int]],
        statuses: list[str] | None = None,
        events: list[list[float]] | None = None,
        cached: list[int] | None = None,
    ) -> Records:
        outcomes = []
        for i, (scheduled, sent, first, last, tokens) in enumerate(rows):
            times = events[i] if events else list(np.linspace(first, last, max(1, tokens)))
            outcomes.append(
                Outcome(
                    index=i,
                    scheduled_ns=round(scheduled * 1e6),
                    sent_ns=round(sent * 1e6),
                    connect_ns=-1,
                    done_ns=round(last * 1e6),
                    status=statuses[i] if statuses else "completed",
                    finish_reason="length",
                    first_byte_ns=round(first * 1e6),
                    first_token_ns=round(first * 1e6),
                    first_text_ns=round(first * 1e6),
                    last_token_ns=round(last * 1e6),
                    input_tokens=100,
                    output_tokens=tokens,
                    cached_tokens=cached[i] if cached else None,
                    event_ns=[round(t * 1e6) for t in times],
                )
            )
        records = build(outcomes, 0)
        settle_tokens(records, None)
        return records

    return make
