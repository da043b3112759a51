"""What every reason must bring, over all cases: words, numbers, facts that resolve, a way on."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from seatrial import gate, hardware
from seatrial.facts import FactStore
from seatrial.gate.table import GateTable
from seatrial.workload.spec import CandidateSpec, Workload

DATA = Path(__file__).resolve().parents[2] / "data" / "gate"
FILES = ("documented", "positive", "kinds")


@pytest.mark.parametrize("file", FILES)
def test_every_reason_leads_on(file: str, judge: Any, store: FactStore) -> None:
    cases = yaml.safe_load((DATA / f"{file}.yaml").read_text())
    for name, case in list(cases.items())[::3]:
        candidate = {
            "engine": case["engine"],
            "version": case["version"],
            "args": case.get("args", {}),
        }
        table = judge(
            {
                "model": case["model"],
                "hardware": case["hardware"],
                "requires": case.get("requires", {}),
                "candidates": [candidate],
            }
        )
        for reason in table.candidates[0].reasons:
            where = f"{name}: {reason.constraint}"
            assert reason.says, where
            if reason.verdict == "unknown":
                assert reason.probe is not None, where
                assert reason.probe.command, where
            elif reason.verdict != "feasible":
                assert reason.remedy, where
            assert all(store.resolve(i) is not None for i in reason.facts), where


def test_the_worst_reason_decides_and_comes_first(judge: Any) -> None:
    order = ["infeasible", "unknown", "conditional", "degraded", "feasible"]
    table = judge(
        {"model": "qwen3-30b-ct-w4a16", "hardware": {"gpu": "t4", "count": 2}}, landscape=True
    )
    for row in table.candidates:
        ranks = [order.index(r.verdict.value) for r in row.reasons]
        assert ranks == sorted(ranks), row.candidate
        assert row.verdict == row.reasons[0].verdict, row.candidate
        assert (row.order is None) == (row.verdict == "infeasible"), row.candidate


def test_every_known_engine_is_in_the_table(judge: Any) -> None:
    from seatrial.facts import ENGINES

    table = judge({"model": "llama-8b", "hardware": {"gpu": "h100-80gb"}}, landscape=True)
    assert {r.engine for r in table.candidates} == set(ENGINES)
    ids = [r.candidate for r in table.candidates]
    assert len(set(ids)) == len(ids)


def test_facts_used_are_frozen_copies(judge: Any, store: FactStore) -> None:
    table: GateTable = judge(
        {"model": "llama-8b", "hardware": {"gpu": "h100-80gb"}}, landscape=True
    )
    used = gate.facts_used(table, store)
    named = {i for row in table.candidates for r in row.reasons for i in r.facts}
    assert {f.id for f in used} == named
    assert named


def _run(
    shape: dict[str, Any],
    folder: Path,
    store: FactStore,
    candidate: CandidateSpec,
    gpu: str,
    day: datetime.date | None = None,
) -> Any:
    (folder / "config.json").write_text(json.dumps(shape))
    spec = msgspec.convert(
        {
            "schema": "seatrial/workload/1",
            "name": "x",
            "model": {"path": str(folder)},
            "hardware": {"gpu": gpu},
            "requires": {"context_tokens": 2048},
        },
        Workload,
    )
    spec = msgspec.structs.replace(spec, candidates=[candidate])
    return gate.run(
        spec,
        base_dir=folder,
        fingerprint=None,
        facts=store,
        host=hardware.detect(),
        installed={},
        landscape=False,
        today=day,
    ).candidates[0]


def test_an_expired_fact_does_not_eliminate_any_more(
    shapes: dict[str, Any], store: FactStore, tmp_path: Path
) -> None:
    trt = CandidateSpec(engine="tensorrt-llm", version="1.2.1")
    now = _run(
        shapes["llama-8b-fp8"], tmp_path, store, trt, "a100-80gb", datetime.date(2026, 12, 1)
    )
    later = _run(
        shapes["llama-8b-fp8"], tmp_path, store, trt, "a100-80gb", datetime.date(2027, 12, 1)
    )
    assert now.verdict == "infeasible"
    assert later.verdict == "unknown"
    binding = next(r for r in later.reasons if r.constraint == "compute_capability")
    assert "expired on" in binding.says
    assert binding.probe is not None


def test_what_was_read_in_this_very_version_does_not_age(
    shapes: dict[str, Any], store: FactStore, tmp_path: Path
) -> None:
    vllm = CandidateSpec(engine="vllm", version="0.11.0")
    row = _run(
        shapes["llama-8b-awq"], tmp_path, store, vllm, "v100-32gb", datetime.date(2027, 12, 1)
    )
    assert (row.verdict, row.reasons[0].constraint) == ("infeasible", "compute_capability")


def test_an_engine_outside_the_list_is_unknown_and_never_feasible(
    shapes: dict[str, Any], store: FactStore, tmp_path: Path
) -> None:
    """SEL-049: an MLX server of its own, JSON schema from a thinking model: only a request shows
    that the content is empty (ddalcu/mlx-serve#331)."""
    body = {
        "schema": "seatrial/workload/1",
        "name": "x",
        "model": {"path": str(tmp_path)},
        "hardware": {"gpu": "apple-m4-max"},
        "requires": {"structured_output": "json_schema", "reasoning_parser": True},
    }
    (tmp_path / "config.json").write_text(
        json.dumps(shapes["qwen36-27b"] | {"quantization": {"group_size": 64, "bits": 6}})
    )
    spec = msgspec.convert(body, Workload)
    own = CandidateSpec(engine="mlx-serve", version="26.8.10")  # type: ignore[arg-type]
    spec = msgspec.structs.replace(spec, candidates=[own])
    row = gate.run(
        spec,
        base_dir=tmp_path,
        fingerprint=None,
        facts=store,
        host=hardware.detect(),
        installed={},
        landscape=False,
    ).candidates[0]
    assert row.verdict == "unknown"
    found = next(r for r in row.reasons if r.constraint == "feature_conflict_reasoning_structured")
    assert found.verdict == "unknown"
    assert found.probe is not None
    assert found.probe.id == "structured_output"
