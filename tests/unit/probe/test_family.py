"""Families of workload: which one, and the checks that need no engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seatrial.probe.family import choose
from seatrial.probe.family.bench import made_per_s
from seatrial.probe.family.programs import SIZES, obeys, schema_of
from seatrial.probe.subject import Spoken
from seatrial.workload.spec import Lora, Model, Requires, Synthetic, Traffic, Workload


def workload(concurrency: int | None = None, **requires: Any) -> Workload:
    return Workload(
        schema="seatrial/workload/1",
        name="t",
        model=Model(path="m"),
        requires=Requires(concurrency=concurrency, **requires),
    )


@pytest.mark.parametrize(
    ("spec", "families"),
    [
        (workload(1), ["local_single_user"]),
        (workload(2), ["local_single_user"]),
        (workload(16), ["many_tenants"]),
        (workload(), ["many_tenants"]),  # nobody says: a server until shown otherwise
        (workload(1, lora=Lora(max_adapters=8)), ["many_tenants"]),
        (workload(1, tools=True), ["local_single_user", "structured_programs"]),
        (workload(8, structured_output="json_schema"), ["many_tenants", "structured_programs"]),
        (workload(8, structured_output=False), ["many_tenants"]),
    ],
)
def test_the_family_follows_from_the_requirements(spec: Workload, families: list[str]) -> None:
    found = choose(spec)
    assert [c.family for c in found] == families
    assert all(c.because for c in found)


def test_described_traffic_says_how_many_come_at_once() -> None:
    synthetic = Synthetic(concurrency=1, input_tokens=10, output_tokens=10)
    spec = Workload(
        schema="seatrial/workload/1",
        name="t",
        model=Model(path="m"),
        traffic=Traffic(synthetic=synthetic),
    )
    assert choose(spec)[0].because == "1 requests at once (traffic.synthetic.concurrency)"


@pytest.mark.parametrize("size", SIZES)
def test_validity_is_the_schemas(size: int) -> None:
    schema = schema_of(size, "q")
    good = {f"q{i}": True if i % 2 == 0 else "blue" for i in range(size)}
    assert obeys(json.dumps(good), schema)
    for bad in (
        {**good, "q0": "blue"},
        {**good, "q1": "pink"},
        {**good, "more": 1},
        {k: v for k, v in good.items() if k != "q0"},
    ):
        assert not obeys(json.dumps(bad), schema)
    assert not obeys("[]", schema)
    assert not obeys(json.dumps(good)[:-1], schema)


def test_speed_counts_from_the_first_token() -> None:
    said = {"status": 200, "text": "", "role_first": False, "finish_reason": "stop", "done": True}
    spoken = Spoken(
        content_ms=[500.0, 600.0, 700.0], total_ms=700.0, usage={"completion_tokens": 5}, **said
    )
    assert made_per_s(spoken) == pytest.approx(4 / 0.2)
    assert made_per_s(Spoken(content_ms=[5.0], total_ms=5.0, usage=None, **said)) is None
