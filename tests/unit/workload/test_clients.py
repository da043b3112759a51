"""ServeGen's client statistics against values computed independently."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from seatrial import trace
from seatrial.cli.main import run
from seatrial.core.errors import UsageError
from seatrial.trace.servegen import pmf, read
from seatrial.workload import fingerprint
from seatrial.workload.profiling import profile
from seatrial.workload.synth_clients import _renewal, from_clients, weibull_shape

NAMES = {
    "requests_estimated_from_rates": "requests_estimated",
    "top1_client_share": "top1_share",
    "top5_client_share": "top5_share",
    "share_requests_covered_by_datasets": "share_requests_covered",
}


@pytest.mark.parametrize("name", ["reason-deepseek-r1", "multimodal-mm-image"])
def test_clients_are_reproduced(traces_dir: Path, name: str) -> None:
    want = json.loads((traces_dir / "expected.json").read_text())[f"servegen/{name}.tar.xz"]
    found = profile(traces_dir / f"{name}.tar.xz")
    assert found.format == "servegen"
    assert found.clients is not None
    assert found.span_s == want.pop("span_s")
    assert want.pop("dataset_window_s") == 21_600
    for key, printed in want.items():
        value = getattr(found.clients, NAMES.get(key, key))
        if isinstance(printed, dict):
            assert value == pytest.approx(printed, abs=0.51e-6), key
        else:
            assert value == pytest.approx(printed, abs=0.51e-6, rel=1e-12), key
    assert found.requests == round(want["requests_estimated_from_rates"])
    assert found.arrivals is None
    assert found.skew == {}


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "{1}", "{a: b}", "{1: inf}", "{1: -1}", "{__import__('os'): 1}", "{1: nan}"],
)
def test_a_text_that_is_no_distribution_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        pmf(text)


def test_a_damaged_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "chunk-0-trace.csv").write_text("0,x,1\n")
    with pytest.raises(UsageError, match="not ServeGen's file"):
        profile(tmp_path)
    (tmp_path / "chunk-0-trace.csv").write_text("0,1,1,Gamma,1,1\n")
    (tmp_path / "chunk-0-dataset.json").write_text('{"0": {"input_tokens": "os.system()"}}')
    with pytest.raises(UsageError, match="not ServeGen's file"):
        profile(tmp_path)


@pytest.mark.parametrize("cv", [0.3, 0.8, 1.0, 2.0, 4.0])
def test_weibull_shape_has_that_cv(cv: float) -> None:
    k = weibull_shape(cv)
    squared = math.gamma(1 + 2 / k) / math.gamma(1 + 1 / k) ** 2 - 1
    assert math.sqrt(squared) == pytest.approx(cv, rel=1e-6)


@pytest.mark.parametrize("family", ["Gamma", "Weibull", ""])
def test_a_renewal_process_has_its_rate_and_cv(family: str) -> None:
    cv = 2.0 if family else 1.0
    times = _renewal(0, 50_000, 1.0, cv, family, np.random.default_rng(1))
    gaps = np.diff(times)
    assert len(times) / 50_000 == pytest.approx(1, rel=0.05)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.1)


def test_requests_made_of_clients_have_their_rate_and_lengths(traces_dir: Path) -> None:
    data = read(traces_dir / "multimodal-mm-image.tar.xz")
    table = from_clients(data, seed=1, minutes=60, start_s=12 * 3600)
    same = from_clients(data, seed=1, minutes=60, start_s=12 * 3600)
    assert table.arrival_ns is not None
    assert same.arrival_ns is not None
    assert (table.arrival_ns == same.arrival_ns).all()
    found = fingerprint(table)
    windows = [c.rate[(c.start_s >= 43_200) & (c.start_s < 46_800)] for c in data.clients.values()]
    rate = sum(float(w.mean()) for w in windows if len(w))
    assert found.arrivals is not None
    assert found.arrivals.rate_per_s == pytest.approx(rate, rel=0.15)
    assert found.output_tokens is not None
    assert found.output_tokens.mean == pytest.approx(130, rel=0.3)
    assert found.skew["client"].categories > 10


def test_the_verb_makes_requests_of_clients(
    traces_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = str(traces_dir / "multimodal-mm-image.tar.xz"), tmp_path / "t.csv"
    assert run(["trace", "synth", source, "--minutes", "1", "--out", str(out)]) == 0
    assert trace.load(out).n > 100
    assert run(["trace", "synth", source, "--rate-factor", "1e9", "--out", str(out)]) == 2
    with pytest.raises(UsageError, match="holds no requests"):
        trace.load(source)
