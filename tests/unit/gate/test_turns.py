"""What would turn a verdict is found by asking the gate again with one thing changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from seatrial import hardware
from seatrial.facts import FactStore
from seatrial.gate.turns import turns
from seatrial.workload.spec import Workload


def _changes(
    shape: dict[str, Any],
    folder: Path,
    store: FactStore,
    host: hardware.Host,
    where: dict[str, Any],
    candidate: dict[str, Any],
) -> dict[str, str]:
    (folder / "config.json").write_text(json.dumps(shape))
    spec = msgspec.convert(
        {
            "schema": "seatrial/workload/1",
            "name": "t",
            "model": {"path": str(folder)},
            "hardware": where,
            "requires": {"context_tokens": 8192},
            "candidates": [candidate],
        },
        Workload,
    )
    assert spec.candidates is not None
    found = turns(
        spec,
        spec.candidates[0],
        base_dir=folder,
        fingerprint=None,
        facts=store,
        host=host,
        installed={},
    )
    return {t.change: t.verdict.value for t in found}


def test_a_smaller_tp_frees_block_fp8(
    shapes: dict[str, Any], store: FactStore, host: hardware.Host, tmp_path: Path
) -> None:
    found = _changes(
        shapes["qwen3-235b-fp8"],
        tmp_path,
        store,
        host,
        {"gpu": "h200", "count": 8},
        {"engine": "vllm", "version": "0.25.1", "args": {"tensor_parallel_size": 8}},
    )
    assert "tp=4" in found
    assert "tp=8" not in found


def test_another_engine_or_card_for_a_volta_card(
    shapes: dict[str, Any], store: FactStore, host: hardware.Host, tmp_path: Path
) -> None:
    found = _changes(
        shapes["llama-8b-awq"],
        tmp_path,
        store,
        host,
        {"gpu": "v100-32gb"},
        {"engine": "vllm", "version": "0.33.0", "args": {"max_model_len": 8192}},
    )
    assert found.get("engine=lmdeploy") == "feasible"
    assert found.get("gpu=l4") == "feasible"
    assert "engine=tgi" not in found


def test_an_upgrade_admits_modelopt_fp8_on_ampere(
    shapes: dict[str, Any], store: FactStore, host: hardware.Host, tmp_path: Path
) -> None:
    found = _changes(
        shapes["nemotron-nano-fp8"],
        tmp_path,
        store,
        host,
        {"gpu": "a100-80gb"},
        {"engine": "vllm", "version": "0.26.0"},
    )
    assert found.get("version=0.33.0") == "degraded"
