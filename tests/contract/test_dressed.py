"""The same contract for every adapter, against the mock in that engine's dress."""

from __future__ import annotations

import pytest

from seatrial import probe
from seatrial.core.errors import EngineError
from seatrial.engines import ADAPTERS
from seatrial.probe import ProbeReport
from seatrial.telemetry import total

from .conftest import Dressed

WIRE = ["answers", "streaming", "usage", "concurrency", "cancellation", "prefix_cache", "metrics"]
NO_METRICS = {"ollama", "transformers"}
NO_TOKENS = {"tensorrt-llm", "ollama", "mlc-llm", "transformers"}


def _verdicts(report: ProbeReport) -> dict[str, str]:
    return {p.id: p.verdict for p in report.probes}


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_every_adapter_understands_its_engine(name: str, dressed: Dressed) -> None:
    engine = dressed(name, "--dialect", name)
    assert engine.healthy()
    report = probe.run(engine, only=WIRE)
    verdicts = _verdicts(report)
    assert {verdicts[i] for i in ("answers", "streaming", "usage", "concurrency")} == {"pass"}
    assert report.findings.loads.verdict == "pass"
    assert report.findings.optimised_path.verdict == "unknown"  # no log of a foreign engine
    # freed slots are seen where there is a metric of running requests, and only there
    seen = "pass" if engine.adapter.metrics.running else "unknown"
    assert verdicts["cancellation"] == seen
    assert verdicts["metrics"] == ("fail" if name in NO_METRICS else "pass")


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_tokens_metrics_and_settings_are_read_in_its_spelling(name: str, dressed: Dressed) -> None:
    engine = dressed(name, "--dialect", name)
    if name in NO_TOKENS:
        with pytest.raises(EngineError, match="no tokenize route"):
            engine.tokenize("one two three")
    else:
        assert len(engine.tokenize("one two three")) >= 3
    if name in NO_METRICS:
        with pytest.raises(EngineError, match="gives no metrics"):
            engine.metrics_text()
    elif engine.adapter.metrics.running:
        assert total(engine.metrics_text(), engine.adapter.metrics.running) == 0
    effective = engine.effective()
    told = {"sglang": 4096, "tgi": 4096, "llama.cpp": 4096, "vllm": 131_072}
    if name in told:
        assert effective["context_tokens"] == told[name]


FAULTS = {
    "http_500": {"answers", "streaming"},
    "http_429": {"answers", "streaming"},
    "error_in_200": {"streaming"},
    "error_mid": {"streaming"},
    "reset_before": {"answers", "streaming"},
    "reset_headers": {"streaming"},
    "reset_mid": {"streaming"},
    "eof_mid": {"streaming"},
    "cut": {"streaming"},
    "malformed_json": {"streaming"},
    "malformed_mid": {"streaming"},
    "cut_json": {"streaming"},
    "wrong_usage": {"usage"},
    "no_usage": {"usage"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_engine_does_not_pass(fault: str, dressed: Dressed) -> None:
    engine = dressed("endpoint", "--fault", fault)
    verdicts = _verdicts(probe.run(engine, only=["answers", "streaming", "usage"]))
    failed = {name for name, verdict in verdicts.items() if verdict == "fail"}
    assert failed >= FAULTS[fault], verdicts


def test_an_address_where_nothing_listens_is_an_engine_error(dressed: Dressed) -> None:
    from seatrial.engines import attach

    with pytest.raises(EngineError, match="no model is served there"):
        attach("http://127.0.0.1:9")
