"""Adapters of a trace become the adapters of the engine that is measured."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest

from seatrial import engines
from seatrial.bench.lora import adapters_for
from seatrial.bench.prepare import prepare
from seatrial.bench.style import Caller
from seatrial.engines import LoraAdapter, Settings
from seatrial.loadgen.body import Sampling


@pytest.fixture
def traced(make_table):
    def make(names: tuple[str, ...], codes: list[int]):
        column = np.array(codes, np.int64)
        return make_table(len(codes), label={"adapter": column}, labels={"adapter": names})

    return make


def _models(found, n: int) -> list[str | None]:
    return [found.of(i).get("model") for i in range(n)]


def test_names_that_are_served_are_asked_for_by_name(mock_url, traced):
    engine = engines.attach(mock_url("--adapter", "fr", "--adapter", "de"))
    found = adapters_for(traced(("fr", "base", "de"), [0, 1, 2, 0]), engine)
    assert _models(found, 4) == ["fr", None, "de", "fr"]
    assert found.assumptions == []


def test_other_names_are_stood_for_in_turn_the_most_frequent_first(mock_url, traced):
    engine = engines.attach(mock_url("--adapter", "one", "--adapter", "two"))
    found = adapters_for(traced(("a", "b", "c"), [0, 1, 1, 1, 0, 2, -1]), engine)
    assert _models(found, 7) == ["two", "one", "one", "one", "two", "one", None]
    assert "3 adapters of the trace are stood for by 2" in found.assumptions[0]


def test_without_adapters_the_base_model_answers_and_that_is_said(mock_url, traced):
    found = adapters_for(traced(("a", "b"), [0, 1]), engines.attach(mock_url()))
    assert _models(found, 2) == [None, None]
    assert "the base model answers" in found.assumptions[0]


def test_an_engine_with_its_own_way_to_name_adapters(mock_url, traced):
    engine = engines.attach(mock_url(), engine="llama.cpp", model="mock")
    given = [LoraAdapter(name=name, path=f"/{name}") for name in ("x", "y")]
    engine.settings = msgspec.structs.replace(Settings(), lora=given)
    found = adapters_for(traced(("y", "x"), [0, 1]), engine)
    assert found.of(0) == {"lora": [{"id": 1, "scale": 1.0}]}
    assert found.of(1) == {"lora": [{"id": 0, "scale": 1.0}]}


def test_bodies_carry_the_adapter_and_keep_their_length_forced(mock_url, traced):
    engine = engines.attach(mock_url("--adapter", "fr"))
    caller = Caller(engine, "chat", Sampling())
    made = prepare(traced(("fr", "base"), [0, 1, 0]), caller, 1)
    bodies = [json.loads(body) for body in made.plan.bodies]
    assert [body["model"] for body in bodies] == ["fr", "mock", "fr"]
    assert all(body["ignore_eos"] for body in bodies)


def test_a_trace_without_adapters_asks_for_none(mock_url, make_table):
    found = adapters_for(make_table(3), engines.attach(mock_url()))
    assert (_models(found, 3), found.assumptions) == ([None] * 3, [])
