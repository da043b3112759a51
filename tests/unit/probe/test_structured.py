"""The judges of structured answers, and what a workload requires."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seatrial.probe.catalogue import PROBES, questions, required_ids
from seatrial.probe.structured import obeys_schema
from seatrial.workload.spec import Model, Platform, Requires, Workload

GOOD = {"zq7": 17, "plan": "quartz-93", "marks": [True, False]}


def test_the_schema_is_judged_exactly() -> None:
    assert obeys_schema(json.dumps(GOOD))
    assert obeys_schema("\n " + json.dumps(GOOD, indent=4) + " ")


@pytest.mark.parametrize(
    "change",
    [
        {"zq7": 18},
        {"zq7": "17"},
        {"zq7": [17]},
        {"plan": "other"},
        {"plan": {}},
        {"marks": [True]},
        {"marks": [1, 0]},
        {"marks": "no"},
        {"more": 1},
    ],
)
def test_what_breaks_the_schema_is_seen(change: dict[str, Any]) -> None:
    assert not obeys_schema(json.dumps({**GOOD, **change}))


@pytest.mark.parametrize("text", ["", "{", "The sea is wide.", "null", "[1]", "[" * 100_000])
def test_what_is_no_object_is_seen(text: str) -> None:
    assert not obeys_schema(text)


def _spec(mode: str = "online", **requires: Any) -> Workload:
    return Workload(
        schema="seatrial/workload/1",
        name="t",
        model=Model(path="m"),
        mode=mode,  # type: ignore[arg-type]
        requires=Requires(**requires),
        platform=Platform(metrics="prometheus"),
    )


def test_a_workload_names_the_probes_it_needs() -> None:
    spec = _spec(structured_output="json_schema", streaming_cancel=True, api=["openai.chat"])
    needed = required_ids(spec)
    assert needed == {
        *("answers", "streaming", "usage", "cancellation", "metrics"),
        *("json_schema", "json_schema.stream", "api.openai.chat"),
    }
    assert "streaming" not in required_ids(_spec("offline"))
    assert required_ids(None) == {"answers", "streaming", "usage"}


@pytest.mark.parametrize("kind", [True, "json_object", "regex", "grammar", "choice"])
def test_every_kind_of_structured_output_has_its_probe(kind: Any) -> None:
    needed = required_ids(_spec(structured_output=kind)) - required_ids(_spec())
    assert needed
    assert needed <= set(PROBES)


def test_required_probes_are_asked() -> None:
    requires = Requires(api=["openai.chat"], lora=True, tools=True, embeddings=True, logprobs=True)
    asked = {name for name, _ in questions(requires)}
    spec = _spec(api=["openai.chat"], lora=True, tools=True, embeddings=True, logprobs=True)
    assert required_ids(spec) <= asked
