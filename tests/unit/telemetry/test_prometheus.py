"""Prometheus text: what is read, what is refused, and names as sources spell them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seatrial.telemetry import base_name, names, parse, total

TEXT = """# HELP vllm:num_preemptions_total Cumulative number of preemptions
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 3.0
vllm:num_preemptions_total{engine="1",model_name="m"} 4.0
vllm:time_to_first_token_seconds_bucket{le="0.1"} 2.0
vllm:time_to_first_token_seconds_sum 1.5
vllm:num_requests_running 2 1700000000000
odd{path="C:\\\\x",say="a \\"b\\""} +Inf
not a metric line at all !
half{a="b" 3
"""


def test_series_keep_names_labels_and_values() -> None:
    series = list(parse(TEXT))
    assert [s.name for s in series][:2] == ["vllm:num_preemptions_total"] * 2
    assert series[1].labels == {"engine": "1", "model_name": "m"}
    assert series[-1].name == "odd"
    assert series[-1].value == float("inf")


def test_buckets_can_be_left_out() -> None:
    assert all("_bucket" not in s.name for s in parse(TEXT, buckets=False))


def test_a_total_is_summed_over_labels_under_its_source_name() -> None:
    assert total(TEXT, "vllm:num_preemptions") == 7.0
    assert total(TEXT, "vllm:num_requests_running") == 2.0
    assert total(TEXT, "vllm:absent") is None


def test_source_names_lose_what_the_client_library_adds() -> None:
    assert base_name("vllm:num_preemptions_total") == "vllm:num_preemptions"
    assert "vllm:time_to_first_token_seconds" in names(TEXT)


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    for series in parse(text):
        assert series.name
