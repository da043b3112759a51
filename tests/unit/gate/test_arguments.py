"""A version nobody has read, a flag the version has not, a count that is none: never a pass."""

from __future__ import annotations

from typing import Any

import pytest

H100 = {"gpu": "h100-80gb"}


def _asked(version: str, engine: str = "vllm", **candidate: Any) -> dict[str, Any]:
    row = {"engine": engine, "version": version, **candidate}
    return {"model": "llama-8b", "hardware": H100, "candidates": [row]}


@pytest.mark.parametrize("version", ["99.99", "1.0", "0.33.1"])
def test_a_version_later_than_all_that_was_read_is_unknown(version: str, first: Any) -> None:
    row = first(_asked(version))
    assert row.verdict == "unknown"
    assert row.reasons[0].constraint == "version_unread"
    assert version in row.reasons[0].remedy


def test_a_version_between_two_readings_passes_and_says_which_was_read(first: Any) -> None:
    row = first(_asked("0.32.5"))
    assert row.verdict == "feasible"
    architecture = next(r for r in row.reasons if r.constraint == "arch_unsupported")
    assert "inferred: so in 0.32.0 and in 0.33.0" in architecture.says


def test_a_version_that_was_read_carries_no_such_note(first: Any) -> None:
    assert not [r for r in first(_asked("0.33.0")).reasons if "as read in" in r.says]


def test_a_final_release_whose_candidate_was_read_is_judged(first: Any) -> None:
    row = first(_asked("0.33.0", engine="ollama") | {"model": "gguf-llama-8b"})
    assert "version_unread" not in {r.constraint for r in row.reasons}


@pytest.mark.parametrize(
    "args",
    [
        {"max_num_sequences": 4},
        {"no_such_flag": 1},
        {"tensor_parallel_size": 0},
        {"tensor_parallel_size": "x"},
        {"max_num_seqs": -1},
    ],
)
def test_flags_that_stop_the_start_are_no_pass(args: dict[str, Any], first: Any) -> None:
    row = first(_asked("0.33.0", args=args))
    assert row.verdict == "conditional"
    assert row.reasons[0].constraint == "flag_unknown"
    assert row.reasons[0].remedy


@pytest.mark.parametrize("args", [{"max-num-seqs": 4}, {"no_enable_prefix_caching": True}])
def test_flags_of_that_version_pass(args: dict[str, Any], first: Any) -> None:
    assert first(_asked("0.33.0", args=args)).verdict == "feasible"


@pytest.mark.parametrize(
    ("engine", "version", "flag", "verdict"),
    [
        ("sglang", "0.5.6", "tp", "feasible"),  # --tp-size alone begins so
        ("sglang", "0.5.6", "pp", "conditional"),  # so do two: argparse asks which
        ("llama.cpp", "b11549", "ctx_siz", "conditional"),  # a parser of its own
    ],
)
def test_the_beginning_of_one_flag_is_that_flag_where_argparse_reads(
    engine: str, version: str, flag: str, verdict: str, first: Any
) -> None:
    model = "gguf-llama-8b" if engine == "llama.cpp" else "llama-8b"
    row = first(_asked(version, engine=engine, args={flag: 1}) | {"model": model})
    named = {r.constraint for r in row.reasons if r.verdict != "feasible"}
    assert ("flag_unknown" in named) == (verdict == "conditional"), row.reasons


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [("int99", "infeasible"), ("fp8banana", "infeasible"), ("fp8", "feasible")],
)
def test_a_cache_type_must_be_on_the_list(asked: str, verdict: str, first: Any) -> None:
    row = first(_asked("0.33.0") | {"requires": {"kv_cache_dtype": asked}})
    assert row.verdict == verdict


def test_an_unknown_gpu_names_the_nearest_known(first: Any) -> None:
    row = first(
        {
            "model": "llama-8b",
            "hardware": {"gpu": "h101-80gb"},
            "candidates": [{"engine": "vllm", "version": "0.33.0"}],
        }
    )
    reason = next(r for r in row.reasons if r.constraint == "hardware_unknown")
    assert row.verdict == "unknown"
    assert "h100-80gb" in reason.remedy
