"""The made-up decision and the task check before it."""

from __future__ import annotations

from seatrial.decide.record import (
    ComparisonKind,
    Cost,
    Decision,
    Differing,
    EvidenceCell,
    EvidenceRequest,
    Operating,
    Rollback,
    SloCheck,
    Step,
    Trigger,
    Turn,
)
from seatrial.decide.record import Measured as MeasuredArm
from seatrial.quality.compare import Diff, QualityResult
from seatrial.stats.compare import Comparison, Outcome

from .origin import ORIGIN, interval


def quality(candidate: str, place: int) -> QualityResult:
    """quality/CANDIDATE.json of the real type."""
    return QualityResult(
        schema="seatrial/quality/1",
        verdict=["pass", "pass", "undecided"][place],
        n=200,
        margin=0.05,
        diff=Diff(low=place / 100, best=place / 80, high=place / 60),
        reference="llama.cpp-b11549-f16",
        candidate=candidate,
        agreement=interval(0.93, 0.97, 0.99),
        agreement_floor=0.9,
        kl=interval(place / 100, place / 80, place / 60),
        positions=1600,
        unanswered=[],
        worst=[("p-017", 0.4)],
        rule="made up",
        says="the mean KL is within its bound (invented)",
        because="",
        provenance=ORIGIN,
    )


def decision(case: str, measured: list[str], starts: int) -> Decision:
    """decision.json of the real type."""
    chosen = {"selected": measured[-1:], "regression": measured[:1], "tie": measured[:1]}
    selected = next(iter(chosen.get(case, [])), None)
    outcome = {"regression": "selected"}.get(case, case)
    valid = {c: starts - (case == "undecided" and i == 1) for i, c in enumerate(measured)}
    return Decision(
        schema="seatrial/decision/1",
        outcome=outcome,
        selected=selected,
        comparison=ComparisonKind(
            kind="deployments",
            differs=[Differing(field="quantization", values={c: c[-4:] for c in measured})],
        ),
        ranked_by=["goodput", "ttft_ms.p95"],
        margin=0.03,
        alpha=0.025,
        measured=[
            MeasuredArm(
                candidate=c,
                role="candidate",
                starts=starts,
                valid=valid[c],
                requests=400,
                start_values=[],
            )
            for c in measured
        ],
        slo=[slo_check(c) for c in measured],
        excluded=[],
        not_on_trial=[],
        comparisons=[comparison(measured[-1], c) for c in measured[:-1]],
        secondary=[],
        equivalent=measured if case == "tie" else [],
        set_aside=[],
        caveats=["made up: no engine ran"],
        reasons=[f"{selected} is better on ttft_ms.p95 by more than the margin (invented)"]
        if selected
        else [f"made-up reason for {case}"],
        would_change=[
            Turn(
                what="traffic",
                now=1.0,
                turns_at=1.8,
                to="undecided",
                basis="bound",
                says="above x1.8 the queue grows without end (invented)",
            ),
            Turn(
                what="slo.ttft_ms.p95",
                now=900.0,
                turns_at=None,
                to="",
                basis="measured",
                says="no limit in the measured range turns it (invented)",
            ),
        ],
        rollback=Rollback(
            trigger=trigger() if selected else None,
            warnings=[],
            previous="llama.cpp-b11549-f16" if selected else None,
            previous_because="the best of the others" if selected else "",
        ),
        costs=[cost(c) for c in measured],
        operations=[operating(c) for c in measured],
        evidence_request=evidence(measured) if case == "undecided" else None,
        trace=[Step(rule="contenders", says="3 passed the gate", inputs={"gate.json": "ef" * 32})],
        provenance=ORIGIN,
    )


def slo_check(candidate: str) -> SloCheck:
    """One SLO that holds."""
    return SloCheck(
        candidate=candidate,
        slo="ttft_ms.p95",
        limit=900.0,
        value=512.5,
        attained=interval(0.985, 0.995, 0.999),
        needed=0.95,
        verdict="met",
        says="99.5 % of the requests were within 900 ms",
    )


def comparison(a: str, b: str) -> Comparison:
    """A against B, better."""
    return Comparison(
        metric="ttft_ms.p95",
        a=a,
        b=b,
        scale="log",
        margin=0.0296,
        alpha=0.025,
        outcome=Outcome.BETTER,
        delta=interval(0.30, 0.44, 0.58),
        ratio=interval(0.56, 0.64, 0.74),
        p_better=0.001,
        p_worse=1.0,
        p_not_worse=0.001,
        p_equivalent=1.0,
        starts_a=3,
        starts_b=3,
    )


def trigger() -> Trigger:
    """When to go back."""
    return Trigger(
        metric="ttft_ms.p95",
        threshold=900.0,
        unit="ms",
        window="5m",
        promql=None,
        says="ttft_ms p95 > 900 ms over 5m: the SLO itself",
    )


def cost(candidate: str) -> Cost:
    """A price."""
    return Cost(
        candidate=candidate,
        usd_per_hour=0.25,
        good_output_tokens_per_s=interval(70.0, 73.0, 76.0),
        usd_per_million_output_tokens=interval(0.91, 0.95, 0.99),
    )


def operating(candidate: str) -> Operating:
    """What it takes to run it."""
    return Operating(
        candidate=candidate,
        weights_bytes=270_000_000,
        image_bytes=None,
        rss_peak_bytes=3.2e8,
        gpu_mem_peak_bytes=None,
        cold_start_s=1.6,
        recovery_s=None,
        drain_lost=None,
        upgrade_s=None,
        rollback_s=None,
    )


def evidence(measured: list[str]) -> EvidenceRequest:
    """What to measure further."""
    cells = [EvidenceCell(candidate=c, starts=2, why="the intervals overlap") for c in measured[:2]]
    return EvidenceRequest(cells=cells, minutes=12.0, could_change="which of the two is chosen")
