"""The check on the real engine: honest quantisations pass, damaged artefacts fail.

Slow: eight starts of llama.cpp with 64 prompts each (about two minutes on a quiet core).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from seatrial.core.progress import Silent
from seatrial.engines import Settings, start
from seatrial.model.derive import derive
from seatrial.model.derive_gguf import FILE_TYPES, rule_for, write_gguf
from seatrial.model.derive_source import open_source
from seatrial.quality import Answers, QualityResult, collect, compare
from seatrial.workload.spec import CandidateSpec

pytestmark = [pytest.mark.real, pytest.mark.slow]
Ask = Callable[[Path], Answers]


@pytest.fixture
def ask(engine_home: Path, tmp_path: Path) -> Ask:
    def asked(artefact: Path) -> Answers:
        with start(
            CandidateSpec(engine="llama.cpp"),
            artefact=artefact,
            settings=Settings(context_tokens=512, concurrency=1, threads=1),
            log=tmp_path / "engine.log",
        ) as engine:
            return collect(engine, candidate=artefact.stem)

    return asked


def layer_zeroed(layer: int) -> Callable[[str, NDArray[np.float32]], NDArray[np.float32]]:
    def edit(name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.zeros_like(values) if name.startswith(f"blk.{layer}.") else values

    return edit


def test_quantisations_pass_and_damage_fails(
    small_model: Path, model_cache: Path, tmp_path: Path, ask: Ask
):
    reference = ask(derive(small_model, "F16"))
    results: dict[str, QualityResult] = {}
    for target in ("Q8_0", "Q4_0", "Q4_1"):
        results[target] = compare(reference, ask(derive(small_model, target)))
    source = open_source(small_model)
    for base, layer in (("F16", 15), ("Q4_0", 20)):
        hurt = tmp_path / f"{base}-zero{layer}.gguf"
        write_gguf(
            source,
            hurt,
            rule=rule_for(base, source),
            file_type=FILE_TYPES[base],
            progress=Silent(),
            edit=layer_zeroed(layer),
        )
        results[hurt.stem] = compare(reference, ask(hurt))
        hurt.unlink()
    plain = rule_for("F16", source)
    ternary = tmp_path / "ternary.gguf"
    write_gguf(
        source,
        ternary,
        rule=lambda t: "TQ1_0" if t.name.endswith("ffn_down.weight") else plain(t),
        file_type=FILE_TYPES["TQ1_0"],
        progress=Silent(),
    )
    results["ternary"] = compare(reference, ask(ternary))
    verdicts = {name: result.verdict for name, result in results.items()}
    said = {name: result.says for name, result in results.items()}
    assert verdicts == {
        "Q8_0": "pass",
        "Q4_0": "pass",
        "Q4_1": "pass",
        "F16-zero15": "fail",
        "Q4_0-zero20": "fail",
        "ternary": "fail",
    }, said


def test_the_same_artefact_twice_gives_the_same_answers(
    small_model: Path, model_cache: Path, ask: Ask
):
    one, two = ask(small_model), ask(small_model)
    assert [a.positions for a in one.answers] == [a.positions for a in two.answers]
