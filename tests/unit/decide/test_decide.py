"""The outcomes of the decision, on trials whose truth is known."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seatrial.decide import Decision, decide
from seatrial.workload.spec import Operations, Platform, Slo


class FakeQuality:
    """What the decision reads of a quality check."""

    def __init__(self, verdict: str) -> None:
        self.verdict = verdict
        self.n = 100
        self.margin = 0.05
        self.diff = {"low": -0.02, "high": 0.01}


def test_a_clear_difference_selects_the_faster(make_trial: Any) -> None:
    found = decide(**make_trial({"a": 1.0, "b": 1.3}).kwargs())
    assert (found.outcome, found.selected) == ("selected", "a")
    assert found.comparison.kind == "engines"
    assert "a is better than b on ttft_ms.p95" in found.reasons[0]
    margins = [t for t in found.would_change if t.what == "margin"]
    assert 0.05 < margins[0].turns_at < 0.3


def test_equal_candidates_tie_and_operations_decide(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.0}, sd=0.003)
    trial.cells = [
        msgspec.structs.replace(c, resources={"rss_peak_bytes": 5e8 if c.candidate == "b" else 1e9})
        for c in trial.cells
    ]
    found = decide(**trial.kwargs())
    assert (found.outcome, found.selected) == ("tie", "b")
    assert found.equivalent == ["a", "b"]
    assert 0.03 < found.resolution["ttft_ms.p95"] < 0.08


def test_noise_larger_than_the_difference_is_undecided_with_a_request(make_trial: Any) -> None:
    found = decide(**make_trial({"a": 1.0, "b": 1.05}, sd=0.06).kwargs())
    assert (found.outcome, found.selected) == ("undecided", None)
    assert found.evidence_request is not None
    assert {c.candidate for c in found.evidence_request.cells} == {"a", "b"}
    assert found.evidence_request.minutes > 0
    assert "loses at most" in found.reasons[0]
    assert found.evidence_request.extend_to in (10, 20)


def test_a_candidate_that_fails_requests_loses_on_goodput(make_trial: Any) -> None:
    found = decide(**make_trial({"a": 1.0, "b": 0.7}, fail={"b": 0.1}).kwargs())
    assert found.selected == "a"
    assert [e.candidate for e in found.excluded] == ["b"]
    assert found.excluded[0].constraint.startswith("slo.")


def test_all_miss_the_slo_none_feasible(make_trial: Any) -> None:
    slo = Slo(ttft_ms={"p95": 20.0})
    found = decide(**make_trial({"a": 1.0, "b": 1.3}, slo=slo).kwargs())
    assert found.outcome == "none_feasible"
    frees = {t.to: t.turns_at for t in found.would_change}
    assert 150 < frees["a"] < 220 < frees["b"] < 300


def test_failed_quality_excludes_the_fastest(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3})
    quality = {"a": FakeQuality("fail"), "b": FakeQuality("pass")}
    found = decide(**trial.kwargs(), quality=quality)
    assert found.selected == "b"
    assert found.excluded[0].constraint == "quality"


def test_undecided_quality_of_the_best_is_undecided(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3})
    found = decide(**trial.kwargs(), quality={"a": FakeQuality("undecided")})
    assert found.outcome == "undecided"


def test_study_and_reference_are_never_selected(make_trial: Any) -> None:
    trial = make_trial({"a": 1.3, "s": 0.5, "r": 0.5}, roles={"s": "study", "r": "reference"})
    found = decide(**trial.kwargs())
    assert (found.outcome, found.selected) == ("selected", "a")
    assert {m.candidate for m in found.measured} == {"a", "s", "r"}


def test_an_unmeasured_survivor_keeps_it_open(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3})
    trial.cells = [
        msgspec.structs.replace(c, valid=c.candidate == "a", invalid_because=["late"])
        for c in trial.cells
    ]
    found = decide(**trial.kwargs())
    assert found.outcome == "undecided"
    assert found.evidence_request.cells[0].candidate == "b"
    assert "late" in found.reasons[0]


def test_an_operations_limit_excludes(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3})
    trial.spec = msgspec.structs.replace(trial.spec, operations=Operations(recovery_s=10))
    found = decide(**trial.kwargs(), lifecycle={"a": {"recovery_s": 44.0}})
    assert found.selected == "b"
    assert found.excluded[0].constraint == "operations.recovery_s"


def test_too_few_requests_do_not_prove_a_percentile(make_trial: Any) -> None:
    found = decide(**make_trial({"a": 1.0}, requests=6, starts=2).kwargs())
    assert found.outcome == "undecided"
    assert any("not shown to hold" in r for r in found.reasons)


def test_offline_ranks_by_throughput(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.0}, mode="offline", slo=Slo())
    for (name, _), columns in trial.columns.items():
        if name == "b":
            columns["done_ns"] = columns["done_ns"] * 2
    found = decide(**trial.kwargs())
    assert (found.selected, found.ranked_by) == ("a", ["output_tokens_per_s"])


def test_differing_precision_is_a_comparison_of_deployments(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3})
    trial.cells = [
        msgspec.structs.replace(c, comparability=c.comparability | {"precision": c.candidate})
        for c in trial.cells
    ]
    found = decide(**trial.kwargs())
    assert found.comparison.kind == "deployments"
    assert found.comparison.differs[0].field == "precision"


def test_every_step_names_its_inputs_by_hash(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3})
    found = decide(**trial.kwargs(), inputs={"gate.json": "f" * 64})
    assert [s.rule for s in found.trace] == [
        "on trial",
        "starts",
        "quality",
        "operations",
        "slo",
        "compare",
    ]
    assert found.trace[0].inputs["gate.json"] == "f" * 64
    assert "cells/a/001/cell.json" in found.trace[-1].inputs
    assert all(len(h) == 64 for s in found.trace for h in s.inputs.values())


def test_the_same_inputs_give_the_same_decision(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3})
    one = decide(**trial.kwargs())
    trial.cells.reverse()
    two = decide(**trial.kwargs())
    same = msgspec.structs.replace(two, provenance=one.provenance)
    assert msgspec.json.encode(one) == msgspec.json.encode(same)


@pytest.mark.parametrize("starts", [1, 2])
def test_few_starts_never_crash(make_trial: Any, starts: int) -> None:
    found = decide(**make_trial({"a": 1.0, "b": 3.0}, starts=starts).kwargs())
    assert found.outcome in ("undecided", "selected")
    if starts == 1:
        assert found.outcome == "undecided"


def test_the_trigger_is_the_slo_and_warns_before_it(make_trial: Any) -> None:
    found = decide(**make_trial({"a": 1.0, "b": 1.3}).kwargs())
    assert found.rollback.trigger.threshold == 500.0
    assert found.rollback.previous == "b"
    early = [w for w in found.rollback.warnings if w.metric == "ttft_ms.p95"]
    assert 150 < early[0].threshold < 300
    assert any("llamacpp:requests_deferred" in (w.promql or "") for w in found.rollback.warnings)


def test_an_engine_that_never_ran_is_out_not_open(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3}, starts=3)
    nothing = msgspec.structs.replace(trial.cells[0].requests, offered=0, completed=0)
    trial.cells = [
        c
        if c.candidate == "a"
        else msgspec.structs.replace(
            c, valid=False, invalid_because=["engine failed: no port"], requests=nothing
        )
        for c in trial.cells
    ]
    found = decide(**trial.kwargs())
    assert found.selected == "a"
    assert found.excluded[0].constraint == "starts"
    assert "no port" in found.excluded[0].says


def test_an_itl_slo_is_read_from_the_cells(make_trial: Any) -> None:
    slo = Slo(itl_ms={"p99": 15.0})
    found = decide(**make_trial({"a": 1.0, "b": 1.3}, slo=slo).kwargs())
    assert found.outcome == "none_feasible"
    assert {c.slo for c in found.slo} == {"itl_ms.p99"}


def test_meas_031_two_modes_are_said(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3}, starts=3)
    for (name, _), columns in trial.columns.items():
        if name == "a":
            columns["tpot_ns"][::12] *= 8
    found = decide(**trial.kwargs())
    assert any("TPOT of a has 2 modes" in c for c in found.caveats)
    assert not any("TPOT of b" in c for c in found.caveats)


def test_a_warm_up_is_said(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3}, starts=3)
    for columns in trial.columns.values():
        columns["tpot_ns"][:40] *= 1.5
    found = decide(**trial.kwargs())
    assert any("TPOT of a has a warm-up in 3 of 3 starts" in c for c in found.caveats)


@pytest.mark.parametrize("starts", [1, 2, 3, 5])
@pytest.mark.parametrize("fail", [0.0, 0.2, 1.0])
def test_every_decision_can_be_read_back(make_trial: Any, starts: int, fail: float) -> None:
    slo = Slo(ttft_ms={"p95": 500.0}, deadline_s=1e6, output_tokens_per_s=1.0, goodput=0.9)
    trial = make_trial({"a": 1.0, "b": 1.01}, starts=starts, requests=60, slo=slo, fail={"b": fail})
    found = decide(**trial.kwargs())
    again = msgspec.json.decode(msgspec.json.encode(found), type=Decision)
    assert again.outcome == found.outcome


def test_a_failed_request_does_not_void_the_latency_comparison(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3}, requests=100, starts=3)
    trial.columns["b", 2]["status"][4] = "failed"
    found = decide(**trial.kwargs())
    assert any("99 of 100 requests" in c for c in found.caveats)
    latency = [c for c in found.comparisons if c.metric == "ttft_ms.p95"]
    assert latency[0].outcome == "better"
    assert msgspec.json.decode(msgspec.json.encode(found), type=Decision).margin == 0.03


def test_a_start_without_values_leaves_its_candidate_open(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.0, "c": 1.0}, requests=100, starts=3, slo=Slo())
    for name in ("a", "b", "c"):
        trial.columns[name, 1]["e2e_ns"][:] = 1e8
    trial.columns["b", 2]["e2e_ns"][:] = float("nan")
    found = decide(**trial.kwargs())
    assert found.outcome == "undecided"
    assert any("b has a start without a value" in r for r in found.reasons)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Decision)


def test_an_engine_alone_never_satisfies_the_platform(make_trial: Any) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3}, starts=3)
    asked = Platform(canary=True, tenant_isolation=True, metrics="prometheus")
    trial.spec = msgspec.structs.replace(trial.spec, platform=asked)
    needs = {n.feature: n for n in decide(**trial.kwargs()).platform}
    assert needs["canary"].layer == "serving platform"
    assert needs["canary"].provided is None
    assert needs["metrics"].provided is True
    assert "no latency histograms" in needs["metrics"].says
    assert set(needs) == {"canary", "tenant_isolation", "metrics"}


def test_reasons_that_differ_in_their_numbers_are_told_once() -> None:
    from seatrial.decide.verdict import _invalid

    said = _invalid(["lateness 41.2 ms", "others used 76%", "others used 79%", "others used 8%"])
    assert said == "lateness 41.2 ms; others used 76% (and 2 more like it)"
