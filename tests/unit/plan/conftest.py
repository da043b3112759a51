"""Small finished cells for the plan, with only what a plan reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from seatrial.core.provenance import provenance
from seatrial.core.verdict import Verdict
from seatrial.gate.table import GateRow, GateTable
from seatrial.plan import Plan, make
from seatrial.workload.spec import Model, Slo, Trial, Workload


class Nothing:
    mean = p50 = p90 = p95 = p99 = None


EMPTY = Nothing


@dataclass
class FakeCell:
    candidate: str
    start: int
    valid: bool = True
    goodput: float | None = 1.0
    output_tokens_per_s: float | None = 100.0
    ttft_ms: Any = EMPTY
    itl_ms: Any = EMPTY
    tpot_ms: Any = EMPTY
    e2e_ms: Any = EMPTY
    requests: Any = None
    extra: dict[str, Any] = field(default_factory=dict)


def ttft(p95: float) -> SimpleNamespace:
    return SimpleNamespace(mean=p95, p50=p95, p90=p95, p95=p95, p99=p95)


@pytest.fixture
def fake_cell() -> Callable[..., FakeCell]:
    """fake_cell("a", 1, 120.0): a valid cell with this p95 of TTFT in ms."""

    def make_it(candidate: str, start: int, p95: float, **more: Any) -> FakeCell:
        counts = SimpleNamespace(completed=more.pop("completed", 20))
        return FakeCell(candidate, start, ttft_ms=ttft(p95), requests=counts, **more)

    return make_it


@pytest.fixture
def make_plan() -> Callable[..., Plan]:
    """make_plan(["a", "b"], starts=5)"""

    def make_it(names: list[str], *, roles: dict[str, str] | None = None, **trial: Any) -> Plan:
        spec = Workload(
            schema="seatrial/workload/1",
            name="t",
            model=Model(path="m"),
            slo=Slo(ttft_ms={"p95": 500.0}),
            trial=Trial(**trial),
        )
        rows = [
            GateRow(
                candidate=name,
                engine="vllm",
                version="1",
                verdict=Verdict.FEASIBLE,
                reasons=[],
                role=(roles or {}).get(name, "candidate"),
            )
            for name in names
        ]
        gate = GateTable(schema="seatrial/gate/1", candidates=rows, provenance=provenance())
        return make(spec, gate, minutes_per_cell=1.5)

    return make_it
