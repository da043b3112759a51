"""Which candidates are judged, and what they are called."""

from __future__ import annotations

from typing import Any

from seatrial.facts import FactStore
from seatrial.gate.candidate import candidate_id, newest_version, resolve, unique_ids
from seatrial.workload.spec import Artefact, CandidateSpec


def test_ids_are_readable() -> None:
    gguf = CandidateSpec(engine="llama.cpp", version="11549", artefact=Artefact(quantization="F16"))
    assert candidate_id(gguf) == "llama.cpp-b11549-f16"
    wheel = CandidateSpec(engine="llama.cpp", version="2026.10.11549")
    assert candidate_id(wheel) == "llama.cpp-b11549"
    cut = CandidateSpec(engine="vllm", version="0.33.0", args={"tensor_parallel_size": 4})
    assert candidate_id(cut).startswith("vllm-0.33.0-tp4-")
    assert candidate_id(CandidateSpec(engine="vllm", name="old one")) == "old-one"


def test_another_flag_is_another_candidate() -> None:
    one = CandidateSpec(engine="vllm", version="1", args={"max_num_seqs": 1})
    two = CandidateSpec(engine="vllm", version="1", args={"max_num_seqs": 2})
    assert candidate_id(one) != candidate_id(two)
    assert len(set(unique_ids([one, one, two]))) == 3


def test_an_installed_newest_keeps_its_own_spelling(store: FactStore) -> None:
    assert newest_version("llama.cpp", store, {}) == "b11549"
    assert newest_version("llama.cpp", store, {"llama.cpp": ["11549"]}) == "11549"
    older = newest_version("llama.cpp", store, {"llama.cpp": ["9000"]})
    assert older == "b11549"


def test_a_named_version_is_kept(store: FactStore) -> None:
    named = CandidateSpec(engine="vllm", version="0.11.0")
    assert resolve(named, store, {}) is named
    assert resolve(CandidateSpec(engine="vllm"), store, {}).version == store.newest("vllm")


def test_an_older_installed_version_is_judged_beside_the_newest(judge: Any) -> None:
    table = judge(
        {"model": "llama-8b", "hardware": {"cpu": "auto"}},
        landscape=True,
        installed={"llama.cpp": ["9000"]},
    )
    versions = [r.version for r in table.candidates if r.engine == "llama.cpp"]
    assert versions == ["b11549", "9000"]
