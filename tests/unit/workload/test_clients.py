"""ServeGen's client statistics against values computed independently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.trace.servegen import pmf
from seatrial.workload.profiling import profile

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
