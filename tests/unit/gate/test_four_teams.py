"""examples/seven-b-w4a16: one model, four workloads, four answers."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from seatrial import gate, hardware
from seatrial import workload as stage
from seatrial.facts import FactStore
from seatrial.gate.table import GateTable

NAMES = ("changing-models", "shared-prefixes", "one-fixed-model", "customer-host")


@pytest.fixture(scope="module")
def tables(
    repo_root: Path, store: FactStore, host: hardware.Host, day_of_the_facts: datetime.date
) -> dict[str, GateTable]:
    folder = repo_root / "examples" / "seven-b-w4a16"
    return {
        name: gate.run(
            stage.load(folder / f"{name}.yaml").spec,
            base_dir=folder,
            fingerprint=None,
            facts=store,
            host=host,
            installed={},
            today=day_of_the_facts,
        )
        for name in NAMES
    }


def _order(table: GateTable) -> list[str]:
    rows = [r for r in table.candidates if r.role != "landscape" and r.order]
    return [r.engine for r in sorted(rows, key=lambda r: r.order or 0)]


def _reason(table: GateTable, engine: str) -> str:
    row = next(r for r in table.candidates if r.engine == engine)
    return row.reasons[0].constraint if row.verdict == "infeasible" else ""


def test_each_leaves_other_candidates_or_another_order(tables: dict[str, GateTable]) -> None:
    assert len({tuple(_order(t)) for t in tables.values()}) == len(NAMES)


def test_what_is_tried_first_follows_from_the_keys(tables: dict[str, GateTable]) -> None:
    assert _order(tables["changing-models"])[0] == "vllm"
    assert _order(tables["shared-prefixes"])[0] == "sglang"
    assert _order(tables["one-fixed-model"])[0] == "lmdeploy"  # TensorRT-LLM refuses AutoAWQ
    assert _order(tables["customer-host"])[:2] == ["llama.cpp", "ollama"]


def test_who_is_out_and_why(tables: dict[str, GateTable]) -> None:
    assert _reason(tables["changing-models"], "transformers") == "feature_missing_structured_output"
    assert _reason(tables["shared-prefixes"], "transformers") == "feature_missing_prefix_cache"
    assert _reason(tables["shared-prefixes"], "ollama") == "concurrency_default"
    assert _reason(tables["one-fixed-model"], "tensorrt-llm") == "quant_unsupported"
    assert _reason(tables["customer-host"], "tensorrt-llm") == "platform_unsupported"
    assert _reason(tables["customer-host"], "sglang") == "cpu_isa_missing"
    for table in tables.values():
        assert _reason(table, "tgi") == "engine_unmaintained"
