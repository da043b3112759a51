"""The fingerprint against values computed independently, to their printed precision."""

from __future__ import annotations

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from seatrial import trace
from seatrial.workload import fingerprint
from seatrial.workload.lengths import distribution
from seatrial.workload.prefix import reuse_of

DATA = Path(__file__).resolve().parents[2] / "data" / "traces"
CAPACITIES = (1000, 5000, 10000, 30000, 50000, 100000, 1222, 2444, 4888, 9776, 19553)


@cache
def expected(name: str) -> dict[str, Any]:
    return json.loads((DATA / "expected.json").read_text())[name]


@cache
def found(name: str) -> dict[str, Any]:
    table = trace.load(DATA / name)
    return json.loads(msgspec.json.encode(fingerprint(table, capacities=CAPACITIES)))


def same(value: float | None, printed: float) -> bool:
    """Equal at the precision that was printed (six decimals at most)."""
    return value is not None and abs(value - printed) <= 0.5000001e-6


def check_distribution(value: dict[str, float], printed: dict[str, float]) -> None:
    for key, number in printed.items():
        assert same(value["std" if key == "std_pop" else key], number), key


TIMED = {
    "AzureLLMInferenceTrace_conv.csv.xz": "azure-2023/AzureLLMInferenceTrace_conv.csv",
    "splitwise_conv.csv.xz": "vidur/splitwise_conv.csv",
    "mooncake_synthetic_trace.jsonl.xz": "mooncake/synthetic_trace.jsonl",
    "vtc_real_trace.jsonl.xz": "vtc-lmsys-lora/vtc_real_trace.jsonl",
}
LENGTHS = {
    f"{name}.xz": f"token-lengths/{name}"
    for name in (
        "bwb_stats_llama2_tokenizer_filtered_v2.csv",
        "sharegpt_8k_filtered_stats_llama2_tokenizer.csv",
        "arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv",
    )
}


@pytest.mark.parametrize(("file", "key"), TIMED.items())
def test_arrivals_are_reproduced(file: str, key: str) -> None:
    want, got = expected(key)["arrivals"], found(file)["arrivals"]
    assert found(file)["requests"] == want["rows"]
    assert same(found(file)["span_s"], want["span_s"])
    assert same(got["rate_per_s"], want["mean_rate_per_s"])
    assert same(got["interarrival_s"]["mean"], want["iat_mean_s"])
    assert same(got["cv_interarrival"], want["iat_cv"])
    assert same(got["interarrival_s"]["p50"], want["iat_p50_s"])
    assert same(got["interarrival_s"]["p99"], want["iat_p99_s"])
    assert same(got["share_zero_interarrival"], want["share_zero_iat"])
    assert got["distinct_timestamps"] == want["distinct_timestamps"]
    assert len(got["per_minute"]) == want["minute_bins"]
    assert got["peak_per_minute"] == want["peak_per_minute"]
    assert same(got["mean_per_minute"], want["mean_per_minute_bin"])
    assert same(got["peak_to_mean_minute"], want["peak_to_mean_minute"])
    assert same(got["peak_to_mean_minute_full_bins"], want["peak_to_mean_minute_full_bins_only"])
    assert same(got["dispersion"]["1s"], want["dispersion_1s"])
    assert same(got["dispersion"]["60s"], want["dispersion_60s"])
    assert got["peak_per_second"] == want["peak_per_second"]


@pytest.mark.parametrize(("file", "key"), {**TIMED, **LENGTHS}.items())
def test_lengths_are_reproduced(file: str, key: str) -> None:
    check_distribution(found(file)["input_tokens"], expected(key)["input"])
    check_distribution(found(file)["output_tokens"], expected(key)["output"])


def test_correlations_are_reproduced() -> None:
    want = expected("azure-2023/AzureLLMInferenceTrace_conv.csv")
    got = found("AzureLLMInferenceTrace_conv.csv.xz")
    assert same(got["lengths"]["pearson"], want["pearson_in_out"])
    assert same(got["lengths"]["spearman"], want["spearman_in_out"])
    assert same(got["input_output_ratio"], want["input_output_token_ratio"])


def test_prefix_reuse_is_reproduced() -> None:
    want = expected("mooncake/synthetic_trace.jsonl")
    got = found("mooncake_synthetic_trace.jsonl.xz")["prefix"]
    cold = want["infinite_cache"]
    assert got["block_tokens"] == want["block_size"]
    assert got["blocks"] == cold["blocks"]
    assert got["unique_blocks"] == cold["uniq"]
    assert same(got["block_hit"], cold["prefix_block_hit"])
    assert same(got["token_hit"], cold["prefix_token_hit"])
    assert same(got["last_half_token_hit"], cold["last_half_prefix_token_hit"])
    assert same(got["per_request_mean"], cold["per_request_unweighted_hit"]["mean"])
    assert same(1 - got["requests_with_hit"], cold["per_request_unweighted_hit"]["share_zero"])
    assert same(got["requests_with_hit"], cold["req_any_hit"])
    assert same(got["requests_all_hit"], cold["req_full_hit"])
    for capacity, orders in want["lru"].items():
        assert same(got["lru"][capacity], orders["leaf_first"]["token"]), capacity


def test_adapters_are_reproduced() -> None:
    want = expected("vtc-lmsys-lora/vtc_real_trace.jsonl")
    got = found("vtc_real_trace.jsonl.xz")["skew"]["adapter"]
    assert got["categories"] == want["adapters"]
    for key, name in (
        ("top1_share", "top1_share"),
        ("top3_share", "top3_share"),
        ("top5_share", "top5_share"),
        ("entropy_bits", "adapter_entropy_bits"),
        ("effective", "effective_adapters_exp_entropy"),
    ):
        assert same(got[key], want[name]), key
    assert got["counts"] == want["counts"]


def test_two_forms_of_one_trace_fingerprint_alike() -> None:
    azure, vidur = (
        {k: v for k, v in found(f).items() if k not in ("format", "files")}
        for f in ("AzureLLMInferenceTrace_conv.csv.xz", "splitwise_conv.csv.xz")
    )
    azure["arrivals"].pop("grain_s")
    vidur["arrivals"].pop("grain_s")
    assert azure == vidur


def test_what_a_trace_does_not_carry_is_null() -> None:
    got = found("bwb_stats_llama2_tokenizer_filtered_v2.csv.xz")
    for key in ("span_s", "arrivals", "prefix", "sessions", "ttft_ms", "e2e_ms", "concurrency"):
        assert got[key] is None, key
    assert "arrival times" in got["missing"]
    assert got["pressure"]["label"] == "decode_kv"


def test_last_half_curve_is_reproduced() -> None:
    want = expected("mooncake/synthetic_trace.jsonl")["lru_leaf_first_last_half_token_hit"]
    table = trace.load(DATA / "mooncake_synthetic_trace.jsonl.xz")
    got = reuse_of(table).curve([int(c) for c in want], first=table.n // 2)
    assert {c: round(hit, 4) for c, hit in got.items()} == want


def test_blocks_per_request_are_reproduced() -> None:
    table = trace.load(DATA / "mooncake_synthetic_trace.jsonl.xz")
    assert table.blocks is not None
    got = distribution(np.diff(table.blocks.offsets))
    want = expected("mooncake/synthetic_trace.jsonl")["blocks_per_request"]
    check_distribution(msgspec.to_builtins(got), want)


def in_ms(printed: dict[str, float]) -> dict[str, float]:
    return {k: v if k == "n" else 1000 * v for k, v in printed.items()}


def near(value: dict[str, float], printed: dict[str, float]) -> None:
    """The same in another unit: the printed six decimals of seconds are three of milliseconds."""
    for key, number in printed.items():
        name = "std" if key == "std_pop" else key
        assert value[name] == pytest.approx(number, rel=1e-9, abs=0.51e-3), key


def test_claude_sessions_are_reproduced() -> None:
    want = expected("kv-cache-tester/claude-code-traces-sample87.tar.xz")
    got = found("claude-code-traces-sample87.tar.xz")
    assert got["requests"] == want["requests"]
    assert got["sessions"]["count"] == want["traces"]
    assert got["prefix"]["block_tokens"] == want["block_size"]
    assert got["prefix"]["blocks"] == want["blocks"]
    check_distribution(got["input_tokens"], want["input"])
    check_distribution(got["output_tokens"], want["output"])
    check_distribution(got["sessions"]["turns"], want["requests_per_trace"])
    check_distribution(got["sessions"]["think_s"], want["think_time_s"])
    near(got["e2e_ms"], in_ms(want["api_time_s"]))
    near(got["ttft_ms"], in_ms(want["ttft_s"]))
    check_distribution(got["prefix"]["per_session_block_hit"], want["per_trace_prefix_block_hit"])
    assert same(got["prefix"]["block_hit"], want["all_traces_within_trace_prefix_block_hit"])
    assert same(got["features"]["tools"], want["share_requests_with_tool_use_output"])
    streamed = want["type_n_nonstream_s_stream"]["s"]
    assert round(got["features"]["stream"] * got["requests"]) == streamed
    stop = dict(want["stop"])
    stop.pop("(empty)")
    assert got["skew"]["outcome"]["counts"] == stop
    assert got["arrivals"] is None
    assert "arrival times" in got["missing"]


@pytest.fixture(scope="module")
def lmcache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lmcache")
    with tarfile.open(DATA / "lmcache-agent-traces-70.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("agent", ["miniswe", "magagent", "taubench"])
def test_agent_transcripts_are_reproduced(lmcache: Path, agent: str) -> None:
    want = expected(f"lmcache-agent-trace/{agent}")
    table = trace.load(lmcache / agent)
    got = json.loads(msgspec.json.encode(fingerprint(table)))
    assert sum(file["rows"] > 0 for file in got["files"]) == want["files"]
    assert got["requests"] == want["records"]
    assert got["sessions"]["count"] == want["sessions"]
    check_distribution(got["sessions"]["turns"], want["records_per_session"])
    check_distribution(got["input_chars"], want["input_chars"])
    check_distribution(got["output_chars"], want["output_chars"])
    check_distribution(
        got["prefix"]["per_session_block_hit"], want["per_session_prefix_hit_256char_blocks"]
    )
    assert got["span_s"] == pytest.approx((want["last"] - want["first"]) / 1e6)
    assert got["estimated"] == ["input tokens", "output tokens"]
