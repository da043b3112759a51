"""Engines or deployments."""

from __future__ import annotations

from seatrial.decide.comparability import kind_of

KEY = {"model": "m", "precision": "bf16", "context_tokens": 4096, "trace": "t", "sampling": "s"}


def test_equal_keys_are_a_comparison_of_engines() -> None:
    found = kind_of({"a": KEY | {"engine": "vllm"}, "b": KEY | {"engine": "sglang"}})
    assert (found.kind, found.differs) == ("engines", [])


def test_a_differing_field_is_named_with_its_values() -> None:
    found = kind_of({"a": KEY, "b": KEY | {"precision": "q4_0"}})
    assert found.kind == "deployments"
    assert found.differs[0].field == "precision"
    assert found.differs[0].values == {"a": "bf16", "b": "q4_0"}


def test_what_nobody_knows_is_not_known_to_be_equal() -> None:
    unknown = KEY | {"context_tokens": None}
    assert kind_of({"a": unknown, "b": unknown}).kind == "deployments"
    assert kind_of({"a": KEY | {"template": None}, "b": KEY | {"template": None}}).kind == "engines"


def test_nested_fields_are_compared_by_dotted_name() -> None:
    found = kind_of({"a": {"s": {"top_k": 1}}, "b": {"s": {"top_k": 2}}})
    assert [d.field for d in found.differs] == ["s.top_k"]
