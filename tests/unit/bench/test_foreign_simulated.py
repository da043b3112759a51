"""A simulator's result is read for what it is: a prediction of the lowest grade."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.bench.foreign import read
from seatrial.bench.foreign.evidence import comparable
from seatrial.core.errors import UsageError


def test_blis_as_its_authors_recorded_it(repo_root: Path) -> None:
    (found,) = read(repo_root / "tests" / "data" / "foreign" / "blis.json")
    assert (found.tool, found.grade) == ("blis", "simulated")
    assert found.metrics["ttft_ms"].statistics["p99"] == 17.75328
    assert found.metrics["ttft_ms"].statistics["p50"] is None  # BLIS prints no median
    assert found.output_tokens == 64740
    assert found.duration_s == 31.667365
    assert "any measurement: it is a simulation" in found.missing


def test_a_simulated_number_is_never_comparable_with_a_measured_one(
    repo_root: Path, tmp_path: Path
) -> None:
    (told,) = read(repo_root / "tests" / "data" / "foreign" / "blis.json")
    measured = tmp_path / "vllm.json"
    measured.write_text(json.dumps({"mean_ttft_ms": 14.3, "completed": 300, "failed": 0}))
    (real,) = read(measured)
    assert not comparable(told.metrics["ttft_ms"], real.metrics["ttft_ms"])


def test_half_a_result_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"ttft_mean_ms": 3.0}))
    with pytest.raises(UsageError, match="BLIS"):
        read(path)
