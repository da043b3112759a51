"""The contract on a machine with a GPU: every engine that is installed there.

``SEATRIAL_TEST_HOME`` names the home in which engines are installed, ``SEATRIAL_TEST_MODEL`` the
weights (a Hugging Face folder). Run with ``pytest -m gpu``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seatrial import engines, probe
from seatrial.engines import Settings
from seatrial.telemetry import Sampler
from seatrial.workload.spec import CandidateSpec

pytestmark = pytest.mark.gpu
NEEDED = {"answers", "streaming", "usage", "cancellation", "concurrency", "context_limit"}


def _given(name: str) -> Path:
    value = os.environ.get(name)
    if not value:
        pytest.fail(f"{name} is not set", pytrace=False)
    return Path(value)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "lmdeploy"])
def test_it_serves_and_is_watched(
    engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEATRIAL_HOME", str(_given("SEATRIAL_TEST_HOME")))
    if engine not in engines.installed():
        pytest.skip(f"{engine} is not installed on this machine")
    live = engines.start(
        CandidateSpec(engine=engine),  # type: ignore[arg-type]
        artefact=_given("SEATRIAL_TEST_MODEL"),
        settings=Settings(context_tokens=2048, concurrency=16, seed=1),
        log=tmp_path / "log",
    )
    with live, Sampler(live.pid, live.metrics_url) as sampler:
        report = probe.run(live)
    verdicts = {p.id: p.verdict for p in report.probes}
    assert {i for i in NEEDED if verdicts[i] != "pass"} == set()
    assert report.findings.optimised_path.verdict in ("pass", "degraded")
    resources = sampler.result().resources()
    assert (resources["gpu_mem_peak_bytes"] or 0) > 1e9
    assert resources["gpu_util"] is not None
