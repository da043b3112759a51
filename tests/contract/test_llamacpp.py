"""The contract on the real llama.cpp: what the adapter promises, the engine keeps."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import psutil
import pytest

from seatrial import engines, probe
from seatrial.core.errors import EngineError, PrerequisiteError, UsageError
from seatrial.engines import RunningEngine, Settings, http, leftovers
from seatrial.telemetry import Sampler, names
from seatrial.workload.spec import CandidateSpec, Model, Requires, Workload

pytestmark = pytest.mark.real

# What this build of the engine answers otherwise than the probe asks; each is a named difference.
DIFFERENCES = {
    "regex": "there is no request field for a regular expression",
    "choice": "there is no request field for a list of strings",
    "tools": "a template without tools answers in plain text, tool_choice or not",
    "embeddings": "the route is off unless the server is started for it",
    "lora": "no adapter is given in this test",
}


def test_cold_start_is_split_and_adds_up(real: RunningEngine) -> None:
    split = real.cold_start_s
    parts = [split[k] for k in ("process", "weights", "warmup", "first_token")]
    assert all(isinstance(p, float) and p >= 0 for p in parts)
    assert sum(p or 0 for p in parts) == pytest.approx(split["total"], abs=0.05)


def test_effective_settings_are_read_back_from_the_engine(real: RunningEngine) -> None:
    effective = real.effective()
    assert effective["context_tokens"] == 512
    assert effective["slots"] == 2
    assert effective["kv_cache_dtype"] == "f16"
    assert effective["prefix_cache"] is True
    assert effective["weights"] == "q4_1"
    assert effective["backend"] == "CPU"
    assert effective["version"] == real.environment.version
    assert len(effective["template_sha256"]) == 64


def test_it_answers_health_metrics_and_tokens(real: RunningEngine) -> None:
    assert real.healthy()
    assert real.alive()
    wanted = {n for n in (real.adapter.metrics.running, real.adapter.metrics.prompt_tokens) if n}
    assert wanted <= names(real.metrics_text())
    assert real.tokenize("Hello world") == [19556, 905]
    assert real.tokenize("") == []


def test_its_log_names_an_optimised_path(real: RunningEngine) -> None:
    found = {m.id: m for m in real.findings()}
    assert found["flash-attention-on"].optimised is True
    assert not [m for m in found.values() if m.level == "failure"]


def test_it_keeps_the_contract_of_a_workload(real: RunningEngine) -> None:
    requires = Requires(
        context_tokens=512,
        concurrency=2,
        structured_output="json_schema",
        streaming_cancel=True,
        prefix_cache=True,
        api=["openai.chat", "openai.completions"],
    )
    spec = Workload(
        schema="seatrial/workload/1", name="t", model=Model(path="m"), requires=requires
    )
    report = probe.run(real, spec, candidate="c")
    verdicts = {p.id: p.verdict for p in report.probes}
    assert {i for i, v in verdicts.items() if v != "pass"} == set(DIFFERENCES)
    assert report.failed_required == []
    assert report.untested_required == []
    assert report.findings.loads.verdict == "pass"
    assert report.findings.optimised_path.verdict == "pass"
    assert report.findings.task.verdict == "unknown"


def test_telemetry_sees_its_memory_and_metrics(real: RunningEngine, tmp_path: Path) -> None:
    with Sampler(real.pid, real.metrics_url, interval_s=0.1, scrape_s=0.1) as sampler:
        http.post(
            real.base_url,
            "/v1/completions",
            {"model": real.model, "prompt": "The tide", "max_tokens": 12, "ignore_eos": True},
        )
    result = sampler.result()
    peak = result.resources()["rss_peak_bytes"]
    assert peak is not None
    assert 100e6 < peak < 2e9
    made = [m.value for m in result.metrics if m.name == "llamacpp:tokens_predicted_total"]
    assert made[-1] - made[0] >= 1


def test_a_port_in_use_is_refused_before_the_start(
    own_home: Path, small_model: Path, tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PrerequisiteError, match=f"port {port} is in use"):
            engines.start(
                CandidateSpec(engine="llama.cpp"),
                artefact=small_model,
                settings=Settings(port=port),
                log=tmp_path / "log",
            )
    assert not (tmp_path / "log").exists()


def test_weights_that_are_none_fail_the_start_and_leave_nothing(
    own_home: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\xff" * 1000)
    with pytest.raises(EngineError, match="did not start") as caught:
        engines.start(CandidateSpec(engine="llama.cpp"), artefact=broken, log=tmp_path / "log")
    assert "failed to load model" in str(caught.value)
    assert not [r for r in leftovers.running() if r.model == "broken"]


def test_unknown_flags_and_versions_are_named(
    own_home: Path, small_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="nearest is 'parallel'"):
        engines.start(
            CandidateSpec(engine="llama.cpp", args={"paralell": 2}),
            artefact=small_model,
            log=tmp_path / "log",
        )
    with pytest.raises(PrerequisiteError, match="llama.cpp 1 is not installed"):
        engines.start(
            CandidateSpec(engine="llama.cpp", version="b1"),
            artefact=small_model,
            log=tmp_path / "log",
        )


def test_a_stopped_engine_is_gone_with_its_note(
    own_home: Path, small_model: Path, tmp_path: Path
) -> None:
    engine = engines.start(
        CandidateSpec(engine="llama.cpp"),
        artefact=small_model,
        settings=Settings(context_tokens=256),
        log=tmp_path / "log",
    )
    assert engine.pid in [r.pid for r in leftovers.running()]
    pid = engine.pid
    began = time.monotonic()
    ended = engine.stop()
    assert ended is not None
    assert ended.code == 0
    assert time.monotonic() - began < 5
    assert pid not in [r.pid for r in leftovers.running()]
    assert not psutil.pid_exists(pid or 0)
    assert http.get(engine.base_url, "/health").status == 0
    assert engine.stop() == ended
