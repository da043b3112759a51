"""Slices of time: rows without a length, rows out of order, one slice or many."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from seatrial import trace
from seatrial.workload import fingerprint, outofcore
from seatrial.workload.columns import recognise
from seatrial.workload.partial import Histogram
from seatrial.workload.profile import Fingerprint
from seatrial.workload.slices import Span, spans


@pytest.fixture
def gappy(tmp_path: Path) -> Path:
    """400 rows over 40 minutes, out of order; some lack one length."""
    random = np.random.default_rng(3)
    times = random.integers(0, 2_400_000, 400) / 1000
    lines = [
        f"{at:.3f},{'' if k % 7 == 0 else int(i)},{'' if k % 5 == 0 else int(o)}"
        for k, (at, i, o) in enumerate(
            zip(times, random.integers(1, 900, 400), random.integers(0, 90, 400), strict=True)
        )
    ]
    path = tmp_path / "gappy.csv"
    path.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n" + "\n".join(lines) + "\n")
    return path


def profiled(path: Path) -> Fingerprint:
    columns = recognise([path], {})
    assert columns is not None
    return outofcore.profile_files([path], columns)


@pytest.mark.parametrize("size", [1, 30, 1_000_000])
def test_lengths_may_lack_and_slices_may_be_many(
    gappy: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(outofcore, "SLICE", size)
    got, want = profiled(gappy), fingerprint(trace.load(gappy))
    assert got.requests == want.requests
    assert got.arrivals is not None
    assert want.arrivals is not None
    assert got.arrivals.dispersion == pytest.approx(want.arrivals.dispersion)
    assert got.arrivals.per_minute == want.arrivals.per_minute
    assert got.arrivals.peak_per_second == want.arrivals.peak_per_second
    inputs, expected = msgspec.to_builtins(got.input_tokens), msgspec.to_builtins(want.input_tokens)
    assert inputs == pytest.approx(expected)
    drift, wanted = msgspec.to_builtins(got.drift), msgspec.to_builtins(want.drift)
    assert drift == pytest.approx(wanted)
    assert got.pressure.loads == pytest.approx(want.pressure.loads)


def test_spans_cover_every_minute_once() -> None:
    minutes = Histogram(np.array([0, 1, 5, 6]), np.array([3, 9, 1, 1]))
    assert list(spans(minutes, 4)) == [Span(0, 1, 0), Span(1, 2, 3), Span(5, 7, 12)]
    assert list(spans(minutes, 100)) == [Span(0, 7, 0)]
