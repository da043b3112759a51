"""Launch lines against the flags of each engine's newest release, as extracted.

An engine that cannot run on this machine still starts where it can: every flag that an adapter
writes for the workloads in examples/ exists in the newest version that was read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial import facts, workload
from seatrial.core.errors import UsageError
from seatrial.engines import ADAPTERS, Environment, LoraAdapter, Settings, adapter, settings_for
from seatrial.engines.flags import require_choices, require_known
from seatrial.workload.spec import CandidateSpec

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = sorted((ROOT / "examples").glob("*/workload.yaml"))
NOT_EXTRACTED = {"tensorrt-llm", "transformers"}
"""Engines for which the store holds no flags: nothing can be refused for them."""
EVERYTHING = Settings(
    context_tokens=4096,
    concurrency=8,
    tp=2,
    pp=2,
    prefix_cache=False,
    dtype="bfloat16",
    seed=7,
    max_lora_adapters=2,
    structured_output_backend="xgrammar",
    lora=[LoraAdapter(name="a", path="/adapters/a")],
)


def _checked(name: str, settings: Settings, args: dict[str, object] | None = None) -> None:
    one = adapter(name)
    newest = facts.load().engine(name)
    flags = one.flags(CandidateSpec(engine=name, args=args or {}), Path("/m"), settings)  # type: ignore[arg-type]
    if newest.knows("flag"):
        known = newest.subjects("flag")
        assert len(known) > 20
        require_known(name, one.flag_names(flags), known, source=newest.version)
        require_choices(name, flags, one.choices(newest.version))


ENGINES = sorted(set(ADAPTERS) - {"endpoint"})


def test_for_which_engines_nothing_is_known_is_stated() -> None:
    store = facts.load()
    silent = {name for name in ENGINES if not store.engine(name).knows("flag")}
    assert silent <= NOT_EXTRACTED


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("path", WORKLOADS, ids=lambda p: p.parent.name)
def test_lines_for_the_examples_hold_no_unknown_flag(name: str, path: Path) -> None:
    spec = workload.load(path).spec
    _checked(name, settings_for(spec, CandidateSpec(engine=name)))  # type: ignore[arg-type]
    for candidate in spec.candidates or []:
        if candidate.engine == name:
            _checked(name, settings_for(spec, candidate), candidate.args)


@pytest.mark.parametrize("name", ENGINES)
def test_every_neutral_setting_has_a_flag_that_exists(name: str) -> None:
    _checked(name, EVERYTHING)
    _checked(name, Settings(prefix_cache=True))


@pytest.mark.parametrize(
    ("name", "wrong", "near"),
    [
        ("vllm", "max_num_seqz", "max_num_seqs"),
        ("vllm", "guided_decoding_backend", ""),  # gone since 0.12
        ("sglang", "mem_fraction_statik", "mem_fraction_static"),
        ("lmdeploy", "sesion_len", "session_len"),
    ],
)
def test_a_flag_that_is_not_there_is_refused(name: str, wrong: str, near: str) -> None:
    version = facts.load().engine(name).version
    place = Environment(engine=name, version=version, kind="binary", program=name)
    with pytest.raises(UsageError, match=near or None):
        adapter(name).check_flags(place, {wrong: 1})


def test_a_value_that_is_no_choice_is_refused_with_the_nearest() -> None:
    version = facts.load().engine("vllm").version
    place = Environment(engine="vllm", version=version, kind="binary", program="vllm")
    with pytest.raises(UsageError, match="nearest: 'bfloat16'"):
        adapter("vllm").check_flags(place, {"dtype": "bfloat61"})


def test_a_version_nobody_read_refuses_nothing() -> None:
    place = Environment(engine="vllm", version="99.0.0", kind="binary", program="vllm")
    adapter("vllm").check_flags(place, {"made_up": 1})


def test_extracted_signatures_join_the_adapters_own() -> None:
    from seatrial.engines.signatures import scan, signatures_of

    version = facts.load().engine("sglang").version
    known = signatures_of(adapter("sglang").signatures, "sglang", version)
    assert len(known) > len(adapter("sglang").signatures)
    old = signatures_of(adapter("vllm").signatures, "vllm", "0.10.0")
    new = signatures_of(adapter("vllm").signatures, "vllm", version="0.33.0")
    assert "not-fully-optimised" in {s.id for s in old}
    assert "not-fully-optimised" not in {s.id for s in new}
    line = "WARNING quantization is not fully optimized yet. The speed can be slower"
    assert len(scan(line, known)) == 1  # told twice, counted once
