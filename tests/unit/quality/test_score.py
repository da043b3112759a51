"""Scorers: right is right, wrong is wrong, hostile is neither an error nor right."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.errors import UsageError
from seatrial.quality.score import exact, numeric, score
from seatrial.quality.score_rules import rules_kept
from seatrial.quality.score_schema import Checker, schema_kept
from seatrial.quality.score_tools import calls_match
from seatrial.quality.task import SUITES, Item, shipped


@pytest.mark.parametrize(
    ("text", "expected", "right"),
    [
        ("She sold 9, so she makes $18.", "18", True),
        ("18 eggs, in all 1,018", "1018", True),
        ("about -3.50", "-3.5", True),
        ("18 or 19", "18", False),
        ("none", "0", False),
    ],
)
def test_numeric(text: str, expected: str, right: bool):
    assert numeric(text, expected) is right


@pytest.mark.parametrize(
    ("text", "expected", "right"),
    [
        ("False.", "False", True),
        ("It follows that\n**false**", "False", True),
        ("The answer is (B).", "(B)", True),
        ("(A) or rather (B)", "(A)", False),
        ("not false", "False", False),
        ("", "x", False),
    ],
)
def test_exact(text: str, expected: str, right: bool):
    assert exact(text, expected) is right


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        ({"id": "punctuation:no_comma"}, "one two", "one, two"),
        (
            {"id": "length_constraints:number_words", "relation": "at least", "num_words": 3},
            "a b c",
            "a b",
        ),
        (
            {"id": "keywords:frequency", "keyword": "sea", "relation": "less than", "frequency": 2},
            "sea seaside",
            "sea sea",
        ),
        ({"id": "detectable_format:number_bullet_lists", "num_bullets": 2}, "* a\n* b", "* a"),
        ({"id": "startend:quotation"}, '"hi"', "hi"),
        ({"id": "detectable_format:title"}, "<<A>> b", "A b"),
        ({"id": "combination:two_responses"}, "a\n******\nb", "a"),
        ({"id": "detectable_format:json_format"}, '```json\n{"a": 1}\n```', "a: 1"),
        ({"id": "change_case:english_lowercase"}, "abc.", "Abc."),
        (
            {
                "id": "detectable_format:multiple_sections",
                "section_spliter": "Day",
                "num_sections": 2,
            },
            "Day 1 a\nDay 2 b",
            "Day 1 a",
        ),
    ],
)
def test_rules(rule: dict[str, Any], kept: str, broken: str):
    assert rules_kept(kept, [rule])
    assert not rules_kept(broken, [rule])
    assert not rules_kept("", [rule])


def test_an_unknown_rule_is_not_silently_kept():
    with pytest.raises(UsageError, match="no rule"):
        rules_kept("x", [{"id": "language:response_language"}])


TOOLS = [
    {"type": "function", "function": {"name": "geo_area", "parameters": {"required": ["base"]}}}
]
EXPECTED = [{"geo.area": {"base": [10], "unit": ["cm", ""], "kind": ["Right Angle"]}}]


@pytest.mark.parametrize(
    ("calls", "right"),
    [
        ([{"name": "geo_area", "arguments": '{"base": 10.0, "kind": "right-angle"}'}], True),
        (
            [{"name": "geo.area", "arguments": {"base": 10, "unit": "CM", "kind": "right angle"}}],
            True,
        ),
        ([{"name": "geo_area", "arguments": {"kind": "right angle"}}], False),
        ([{"name": "geo_area", "arguments": {"base": 10, "extra": 1}}], False),
        ([{"name": "geo_area", "arguments": "{broken"}], False),
        ([{"name": "other", "arguments": {"base": 10}}], False),
        ([], False),
    ],
)
def test_tool_calls(calls: list[dict[str, Any]], right: bool):
    assert calls_match(calls, EXPECTED, TOOLS) is right


def test_parallel_calls_in_any_order():
    expected = [{"f": {"x": [1]}}, {"f": {"x": [2]}}]
    two, one = {"name": "f", "arguments": {"x": 2}}, {"name": "f", "arguments": {"x": 1}}
    assert calls_match([two, one], expected, [])
    assert not calls_match([one, one], expected, [])


def test_schema_takes_fenced_json_and_refuses_what_it_cannot_check():
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
    assert schema_kept('Here:\n```json\n{"a": 1}\n```', schema)
    assert schema_kept('Sure! {"a": 1} ok', schema)
    assert not schema_kept('{"a": true}', schema)
    assert not schema_kept("no json", schema)
    with pytest.raises(UsageError, match="unevaluatedProperties"):
        schema_kept('{"a": 1}', {"unevaluatedProperties": False})
    with pytest.raises(UsageError):
        schema_kept("{}", {"$ref": "#"})


scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab1", max_size=3)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
types = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
leaf_schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
        "enum": st.lists(scalars, min_size=1, max_size=3),
        "minimum": st.integers(-2, 2),
        "exclusiveMaximum": st.integers(-2, 2),
        "multipleOf": st.integers(1, 3),
        "minLength": st.integers(0, 2),
        "pattern": st.sampled_from(["a", "^b", "1$"]),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        "uniqueItems": st.booleans(),
        "maxItems": st.integers(0, 2),
    },
)
schemas = st.recursive(
    leaf_schemas | st.booleans(),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "contains": inner,
            "propertyNames": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["a", "^b"]), inner, max_size=1),
        },
    ),
    max_leaves=5,
)


@given(schemas, values)
def test_the_checker_agrees_with_the_reference_validator(schema: Any, value: Any):
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert Checker(schema).accepts(value) == expected


def test_every_shipped_suite_loads_and_no_empty_answer_is_right():
    for suite in SUITES:
        items = shipped(suite)
        assert len(items) >= 20
        assert all(item.suite == suite for item in items)
        assert not any(score(item, "", []) for item in items)


def test_an_unknown_suite():
    with pytest.raises(UsageError, match="no task suite"):
        shipped("mmlu")
    assert Item(id="a", prompt="p").scorer == "exact"
