"""Which Transformers stands beside an engine, and what it knows."""

from __future__ import annotations

import pytest

from seatrial.facts.modeltypes import admits, config_types, model_types, parsers, stages


@pytest.mark.parametrize(
    ("requirement", "version", "expected"),
    [
        ("==4.57.1", "4.57.1", True),
        ("==4.57.1", "4.57.2", False),
        ("<5,>=4.56.0", "4.57.6", True),
        ("<5,>=4.56.0", "5.0.0", False),
        ("<5,>=4.56.0", "4.55.4", False),
        ("!=4.52.0,>=4.51.1", "4.52.0", False),
        ("~=4.51.0", "4.51.3", True),
        ("~=4.51.0", "4.52.0", False),
        ("==4.57.*", "4.57.3", True),
        ("", "4.31.0", True),
    ],
)
def test_a_requirement_admits(requirement: str, version: str, expected: bool) -> None:
    assert admits(requirement, version) is expected


def test_the_day_bounds_what_a_floor_leaves_open() -> None:
    tables = model_types()
    assert tables.newest(">=4.51.0", "2025-04-20") == "4.51.3"
    assert tables.newest("==4.57.1", "2020-01-01") == "4.57.1"  # a pin says it all
    assert tables.newest("==4.57.0", None) == "4.57.1"  # withdrawn: the next one knows no less
    assert tables.newest(None, None) is None
    assert tables.newest(">=99", "2026-11-30") is None


def test_classes_and_types_have_a_first_release() -> None:
    tables = model_types()
    assert tables.first(name="Qwen3NextForCausalLM") == "4.57.1"
    assert tables.first(family="qwen3_5_moe") == "5.2.0"
    assert tables.first(name="LlavaQwenForCausalLM") is None
    assert tables.has("4.57.1", name="Qwen3ForCausalLM", family="qwen3")
    assert not tables.has("4.50.0", name="Qwen3ForCausalLM")
    assert not tables.has("4.57.1", name="Qwen3ForCausalLM", family="no-such-family")


def test_every_release_is_known_once_and_in_order() -> None:
    tables = model_types()
    days = [v[1] for v in tables.versions]
    assert len(tables.versions) > 120
    assert len({v[0] for v in tables.versions}) == len(tables.versions)
    assert min(days) >= "2023-07-01"
    for edges in (*tables.types.values(), *tables.classes.values()):
        assert len(edges) % 2 == 0
        assert edges == sorted(edges)
        assert edges[-1] <= len(tables.versions)


def test_around() -> None:
    tables = model_types()
    assert tables.around("4.57.1") == ("4.57.1", "4.57.1")
    assert tables.around("4.30.0") == (None, "4.31.0")


def test_an_engine_brings_configurations_of_its_own_for_some_model_types() -> None:
    own = config_types("vllm")
    assert own is not None
    assert own.has("0.15.0", "qwen3_next") is True
    assert own.has("0.15.0", "glm4_moe_lite") is False
    assert own.has("999.0", "qwen3_next") is None
    assert config_types("llama.cpp") is None


def test_a_parser_is_known_from_its_release_on() -> None:
    read = parsers("vllm")
    assert read is not None
    assert read.has("0.9.2", "tool:qwen3_coder") is False
    assert read.has("0.10.0", "tool:qwen3_coder") is True
    assert read.has("0.24.0", "reasoning:glm45") is True
    assert parsers("ollama") is None


def test_stages_follow_the_signature_of_each_release() -> None:
    read = stages("sglang")
    assert read is not None
    can, whole = read
    assert can.has("0.5.9", "Qwen3NextForCausalLM") is False
    assert whole.has("0.5.9", "Qwen3NextForCausalLM") is True
    assert can.has("0.5.9", "MistralForCausalLM") is True  # inherited
    between = "0.5.0"  # DeepSeek came to it between 0.4.10 and 0.5.1
    assert can.has(between, "DeepseekV3ForCausalLM")
    assert whole.has(between, "DeepseekV3ForCausalLM")
