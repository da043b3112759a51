"""Requests in flight: exact from latencies, by Little's law without; each minute by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seatrial import trace
from seatrial.trace import RequestTable
from seatrial.workload import fingerprint
from seatrial.workload.concurrency import concurrency
from seatrial.workload.page import page
from seatrial.workload.pressure import Reference, alone_s, windows_of
from seatrial.workload.views import in_flight


def logged_trace(folder: Path, rows: list[tuple[float, float]]) -> RequestTable:
    """(arrival s, latency s) as a trace."""
    path = folder / "log.jsonl"
    path.write_text(
        "".join(
            f'{{"timestamp": {at}, "input_tokens": 100, "output_tokens": 10, "e2e": {stay}}}\n'
            for at, stay in rows
        )
    )
    mapping = {"arrival": "timestamp", "input_tokens": "input_tokens",
               "output_tokens": "output_tokens", "e2e": "e2e", "latency_unit": "s"}  # fmt: skip
    return trace.load(path, mapping=mapping)


def test_minutes_are_exact(tmp_path: Path) -> None:
    # 0-30 s one, 30-90 s two (one from 0 to 90, one from 30 to 90), 100-110 s one
    table = logged_trace(tmp_path, [(0, 90), (30, 60), (100, 10)])
    found = concurrency(table)
    assert found is not None
    assert found.per_minute == pytest.approx([(30 + 60) / 60, (60 + 10) / 50])
    assert found.max == 2
    assert found.mean == pytest.approx(160 / 110)


def test_the_minutes_hold_all_time_in_flight(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    starts = np.sort(random.integers(0, 900, 200)).astype(float)
    stays = random.integers(1, 30, 200).astype(float)
    rows = [(float(a), float(b)) for a, b in zip(starts - starts[0], stays, strict=True)]
    found = concurrency(logged_trace(tmp_path, rows))
    assert found is not None
    assert found.per_minute is not None
    for minute, level in enumerate(found.per_minute[:-1]):
        low, high = 60 * minute, 60 * minute + 60
        inside = sum(max(0.0, min(a + b, high) - max(a, low)) for a, b in rows)
        assert level == pytest.approx(inside / 60)


def test_littles_law_agrees_with_the_exact_count(tmp_path: Path) -> None:
    table = logged_trace(tmp_path, [(float(i), 5.0) for i in range(2000)])
    found = fingerprint(table)
    assert found.concurrency is not None
    law = found.concurrency_little
    assert law is not None
    assert law.basis == "logged_latency"
    assert law.mean == pytest.approx(found.concurrency.mean, rel=0.01)
    figure = in_flight(found)
    assert figure is not None
    assert figure.says.startswith("Exact")
    assert figure.basis == "measured"


def test_without_latencies_it_is_littles_law_and_says_so(traces_dir: Path) -> None:
    table = trace.load(traces_dir / "AzureLLMInferenceTrace_conv.csv.xz")
    found = fingerprint(table)
    assert found.concurrency is None
    law = found.concurrency_little
    assert law is not None
    assert law.basis == "alone_on_reference"
    sums = windows_of(table)
    assert sums is not None
    spent = float(alone_s(sums, Reference()).sum())
    assert law.per_minute is not None
    assert found.span_s is not None
    assert law.mean == pytest.approx(spent / found.span_s)
    last = found.span_s - 60 * (len(law.per_minute) - 1)
    assert sum(law.per_minute[:-1]) * 60 + law.per_minute[-1] * last == pytest.approx(spent)
    figure = in_flight(found)
    assert figure is not None
    assert figure.basis == "predicted"
    assert "By Little&#x27;s law" in page(found)


def test_without_times_there_is_none(traces_dir: Path) -> None:
    found = fingerprint(trace.load(traces_dir / "bwb_stats_llama2_tokenizer_filtered_v2.csv.xz"))
    assert found.concurrency_little is None
    assert in_flight(found) is None
