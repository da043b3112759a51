"""The map is made of facts: every engine, its three variables, and a valid drawing."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from seatrial import facts
from seatrial.facts import ENGINES, FactStore
from seatrial.gate.landscape import landscape
from seatrial.gate.landscape_svg import draw


def test_every_engine_has_a_school_and_its_three_variables(store: FactStore) -> None:
    rows = {r.engine: r for r in landscape(store).engines}
    assert set(rows) == set(ENGINES)
    for row in rows.values():
        assert row.place in {"server", "edge"}, row.engine
        assert row.effort in {"easy", "extreme"}, row.engine
        assert row.memory, row.engine
        assert row.scheduling, row.engine
        assert row.kernels, row.engine
        assert row.maintenance, row.engine


def test_every_cell_resolves_to_a_fact(store: FactStore) -> None:
    for row in landscape(store).engines:
        for fact_id in row.facts:
            fact = store.resolve(fact_id)
            assert isinstance(fact, facts.Fact), fact_id
            assert fact.source.artefact


def test_what_everybody_knows(store: FactStore) -> None:
    rows = {r.engine: r for r in landscape(store).engines}
    assert rows["ollama"].layer == "local platform"
    assert rows["tgi"].maintenance == "maintenance"
    assert rows["vllm"].memory == "paged"
    assert rows["llama.cpp"].platforms == ["nvidia", "amd", "intel", "apple", "cpu"]
    assert "cpu" not in rows["tensorrt-llm"].platforms


def test_the_drawing_is_well_formed_and_names_every_engine(store: FactStore) -> None:
    text = draw(landscape(store))
    root = ET.fromstring(text)
    words = " ".join(t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text"))
    assert all(name in words for name in ENGINES)
    assert "maintenance" in words
