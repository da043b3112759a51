"""The trigger: from the decision to a rule file and to a live reading."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
import yaml

from seatrial.cli.main import run
from seatrial.decide import decide, decide_folder
from seatrial.decide.record import Rollback
from seatrial.decide.rules import rule_file
from seatrial.decide.trigger import triggers
from seatrial.decide.watch import evaluate, evaluate_probe, histogram_quantile, verdict
from seatrial.plan import Objective
from seatrial.store import write
from seatrial.telemetry.prometheus import parse

TTFT = Objective(metric="ttft_ms.p95", log=True, higher_is_better=False, limit=500.0)


def exposition(slow: int, fast: int, waiting: int = 0) -> str:
    name = "vllm:time_to_first_token_seconds"
    total = slow + fast
    return (
        f'{name}_bucket{{model_name="m",le="0.25"}} {fast}\n'
        f'{name}_bucket{{model_name="m",le="1.0"}} {total}\n'
        f'{name}_bucket{{model_name="m",le="+Inf"}} {total}\n'
        f'{name}_count{{model_name="m"}} {total}\n'
        f"vllm:num_requests_waiting {waiting}\n"
    )


def vllm_rollback() -> Rollback:
    trigger, warnings = triggers("vllm", TTFT, [200.0, 210.0, 190.0], [])
    return Rollback(trigger=trigger, warnings=warnings, previous="b", previous_because="x")


def watched(first: str, last: str) -> list[Any]:
    return evaluate("vllm", vllm_rollback(), [list(parse(first)), list(parse(last))])


def test_only_the_window_counts() -> None:
    found = watched(exposition(100, 0), exposition(100, 100))
    assert (found[0].state, found[0].n) == ("quiet", 100)
    found = watched(exposition(0, 1000), exposition(50, 1050))
    assert found[0].state == "fired"
    assert found[0].value > 500


def test_the_warning_comes_before_the_trigger() -> None:
    found = watched(exposition(0, 0), exposition(6, 94))
    assert found[0].state == "quiet"
    early = next(w for w in found[1:] if w.trigger.metric == "ttft_ms.p95")
    assert early.trigger.threshold < 500
    assert early.state == "fired"
    assert verdict(found) == "quiet"


def test_no_traffic_and_restarts_are_unknown() -> None:
    assert watched(exposition(5, 5), exposition(5, 5))[0].state == "unknown"
    assert watched(exposition(5, 5), exposition(1, 1))[0].state == "unknown"
    assert watched("", "")[0].state == "unknown"


def test_requests_that_wait_without_a_break_warn() -> None:
    found = watched(exposition(0, 1, waiting=3), exposition(0, 2, waiting=1))
    assert found[-1].state == "fired"


def test_histogram_quantile_is_linear_inside_a_bucket() -> None:
    assert histogram_quantile(0.5, {1.0: 50, 2.0: 100, float("inf"): 100}) == 1.0
    assert histogram_quantile(0.75, {1.0: 50, 2.0: 100, float("inf"): 100}) == 1.5
    assert histogram_quantile(0.99, {1.0: 50, float("inf"): 100}) == 1.0
    assert histogram_quantile(0.5, {}) is None


def test_llama_cpp_has_no_histogram_and_says_so() -> None:
    trigger, warnings = triggers("llama.cpp", TTFT, [200.0, 210.0], [20.0, 21.0])
    assert trigger is not None
    assert trigger.promql is None
    assert "exports no metric" in trigger.says
    text = (
        "llamacpp:tokens_predicted_seconds_total {}\nllamacpp:tokens_predicted_total {}\n"
        "llamacpp:requests_deferred 0\n"
    )
    samples = [list(parse(text.format(1.0, 100))), list(parse(text.format(3.0, 150)))]
    back = Rollback(trigger=trigger, warnings=warnings, previous=None, previous_because="")
    found = {w.trigger.metric: w for w in evaluate("llama.cpp", back, samples)}
    assert found["ttft_ms.p95"].state == "unknown"
    assert found["tpot_ms.mean"].value == pytest.approx(40.0)
    assert found["tpot_ms.mean"].state == "fired"


def test_the_rule_file_is_yaml_with_the_trigger(make_trial: Any) -> None:
    found = decide(**make_trial({"a": 1.0, "b": 1.3}).kwargs())
    found = msgspec.structs.replace(found, rollback=vllm_rollback())
    text = rule_file(found, "support chat")
    rules = yaml.safe_load(text)["groups"][0]["rules"]
    assert rules[0]["alert"] == "SeatrialRollbackTtftMsP95"
    assert rules[0]["expr"].endswith("> 500")
    assert "vllm:time_to_first_token_seconds_bucket" in rules[0]["expr"]
    assert len({r["alert"] for r in rules}) == len(rules)


class Engine(BaseHTTPRequestHandler):
    pages: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        page = self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(("slow", "code"), [(0, 0), (50, 1)])
def test_verb_against_a_live_endpoint(
    make_trial: Any,
    tmp_path: Path,
    endpoint: str,
    capsys: pytest.CaptureFixture[str],
    slow: int,
    code: int,
) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3}, starts=3, requests=100)
    arms = [msgspec.structs.replace(a, engine="vllm") for a in trial.plan.survivors]
    trial.plan = msgspec.structs.replace(trial.plan, survivors=arms)
    folder = trial.write(tmp_path / "t")
    write(folder / "decision.json", decide_folder(folder))
    Engine.pages = [exposition(0, 10), exposition(0, 10), exposition(slow, 60)]
    argv = ["watch", str(folder), "--endpoint", endpoint, "--window", "0.2", "--json"]
    assert run(argv) == code
    document = json.loads(capsys.readouterr().out)
    assert document["state"] == ("fired" if code else "quiet")
    assert run(["watch", str(folder)]) == 0
    assert "SeatrialRollback" in capsys.readouterr().out


def test_verb_without_an_answer_or_a_choice(make_trial: Any, tmp_path: Path) -> None:
    folder = make_trial({"a": 1.0, "b": 1.3}, starts=3, requests=100).write(tmp_path / "t")
    assert run(["watch", str(folder)]) == 3
    write(folder / "decision.json", decide_folder(folder))
    argv = ["watch", str(folder), "--endpoint", "http://127.0.0.1:9", "--window", "0.1"]
    assert run(argv) == 3


def requests_with(ttft_ms: list[float]) -> dict[str, Any]:
    ns = np.array(ttft_ms) * 1e6
    return {
        "status": np.array(["completed" if t < 1e9 else "failed" for t in ttft_ms]),
        "ttft_ns": ns,
        "tpot_ns": np.full(ns.size, 2e7),
        "e2e_ns": ns,
    }


@pytest.mark.parametrize(
    ("slow", "state"), [(0, "quiet"), (1, "quiet"), (2, "quiet"), (4, "fired"), (20, "fired")]
)
def test_a_probe_fires_beyond_chance_not_at_one_of_twenty(slow: int, state: str) -> None:
    columns = requests_with([100.0] * (20 - slow) + [900.0] * slow)
    found = evaluate_probe(vllm_rollback(), columns)
    assert found[0].state == state
    assert found[-1].state == "unknown"  # waiting requests are no property of single ones


def test_a_failed_probe_counts_as_never_answered() -> None:
    columns = requests_with([100.0] * 14 + [2e9] * 6)
    assert evaluate_probe(vllm_rollback(), columns)[0].state == "fired"
