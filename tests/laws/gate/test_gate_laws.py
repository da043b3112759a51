"""Laws of the gate and its arithmetic that hold for every input."""

from __future__ import annotations

import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial import facts, gate, hardware
from seatrial.gate.table import GateRow
from seatrial.model import ModelInfo, memory, read
from seatrial.workload.spec import CandidateSpec, Workload

_ENGINES = st.sampled_from(
    [
        ("vllm", "0.11.0"),
        ("vllm", "0.33.0"),
        ("sglang", "0.5.9"),
        ("lmdeploy", "0.18.0"),
        ("tensorrt-llm", "1.2.1"),
    ]
)
_SHAPES = st.fixed_dictionaries(
    {
        "hidden_size": st.sampled_from([1024, 2048, 4096, 8192]),
        "num_hidden_layers": st.integers(2, 100),
        "num_attention_heads": st.sampled_from([16, 32, 64]),
        "num_key_value_heads": st.sampled_from([1, 2, 4, 8, 16]),
        "intermediate_size": st.sampled_from([2816, 11008, 14336, 28672]),
        "vocab_size": st.sampled_from([32000, 128256, 151936]),
    }
)
_RANK = ["infeasible", "unknown", "conditional", "degraded", "feasible"]


@cache
def _store() -> facts.FactStore:
    return facts.load(user=Path("/nonexistent"))


@cache
def _host() -> hardware.Host:
    return hardware.detect()


def _model(shape: dict[str, Any], folder: Path) -> ModelInfo:
    body = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "max_position_embeddings": 1 << 20,
        **shape,
    }
    (folder / "config.json").write_text(json.dumps(body))
    return read(folder)


def _row(shape: dict[str, Any], engine: tuple[str, str], gpu: str, tokens: int) -> GateRow:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _model(shape, folder)
        spec = msgspec.convert(
            {
                "schema": "seatrial/workload/1",
                "name": "law",
                "model": {"path": name},
                "hardware": {"gpu": gpu},
                "requires": {"context_tokens": tokens},
                "candidates": [{"engine": engine[0], "version": engine[1]}],
            },
            Workload,
        )
        return gate.run(
            spec,
            base_dir=folder,
            fingerprint=None,
            facts=_store(),
            host=_host(),
            installed={},
            landscape=False,
        ).candidates[0]


def _memory_rank(row: GateRow) -> int:
    said = [_RANK.index(r.verdict.value) for r in row.reasons if r.constraint.startswith("memory")]
    return min(said, default=len(_RANK) - 1)


@settings(max_examples=25, deadline=None)
@given(_SHAPES, _ENGINES, st.integers(256, 60_000))
def test_a_longer_context_never_fits_better(
    shape: dict[str, Any], engine: tuple[str, str], tokens: int
) -> None:
    short = _row(shape, engine, "h100-80gb", tokens)
    long = _row(shape, engine, "h100-80gb", tokens * 2)
    assert _memory_rank(long) <= _memory_rank(short)


@settings(max_examples=25, deadline=None)
@given(_SHAPES, _ENGINES, st.integers(256, 60_000))
def test_what_fits_a_card_fits_its_larger_sister(
    shape: dict[str, Any], engine: tuple[str, str], tokens: int
) -> None:
    small = _row(shape, engine, "h100-80gb", tokens)
    large = _row(shape, engine, "h100-nvl-94gb", tokens)
    assert _memory_rank(large) >= _memory_rank(small)


@settings(max_examples=10, deadline=None)
@given(_SHAPES, _ENGINES)
def test_the_same_question_has_the_same_answer(
    shape: dict[str, Any], engine: tuple[str, str]
) -> None:
    one, other = (_row(shape, engine, "l40s", 4096) for _ in range(2))
    assert one.verdict == other.verdict
    assert [r.constraint for r in one.reasons] == [r.constraint for r in other.reasons]


@settings(max_examples=60, deadline=None)
@given(_SHAPES, st.integers(0, 200_000), st.sampled_from([1, 2, 4, 8, 16]))
def test_cache_grows_with_tokens_and_shrinks_with_ranks(
    shape: dict[str, Any], tokens: int, tp: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        model = _model(shape, Path(name))
    here = memory.kv_bytes(model, tokens, tp=tp)
    assert memory.kv_bytes(model, tokens + 1, tp=tp) >= here
    assert memory.kv_bytes(model, tokens, tp=2 * tp) <= here
    assert memory.kv_bytes(model, tokens, tp=tp) * tp >= memory.kv_bytes(model, tokens)
    assert memory.kv_bytes(model, tokens, tp=tp, block=16) >= here
    room = memory.fitting_tokens(model, here, tp=tp)
    assert room >= tokens


@settings(max_examples=100, deadline=None)
@given(
    st.text(max_size=40),
    st.text(max_size=20),
    st.dictionaries(st.text(max_size=8), st.integers(0, 99), max_size=4),
)
def test_a_candidates_id_is_a_file_name(version: str, name: str, args: dict[str, int]) -> None:
    for spec in (
        CandidateSpec(engine="vllm", version=version or None, args=args),
        CandidateSpec(engine="llama.cpp", name=name or None, version="11549"),
    ):
        made = gate.candidate_id(spec)
        assert re.fullmatch(r"[A-Za-z0-9.+_=-]{1,80}", made), made
        assert not made.startswith(".")
