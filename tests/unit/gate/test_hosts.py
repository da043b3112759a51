"""The machine around the accelerator: several findings at once, and how its names are read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seatrial.facts import Fact, FactStore
from seatrial.facts import version as order
from seatrial.gate.knowledge import Knowledge
from seatrial.gate.table import GateRow, Reason

SHORT = {"context_tokens": 2048}


@pytest.fixture
def row(first: Any) -> Any:
    """The row of one candidate: ``row(engine, version, model, hardware, env=, args=, **more)``."""

    def ask(
        engine: str,
        version: str,
        model: str,
        hardware: dict[str, Any],
        *,
        env: dict[str, str] | None = None,
        args: dict[str, Any] | None = None,
        **more: Any,
    ) -> GateRow:
        candidate = {"engine": engine, "version": version, "env": env or {}, "args": args or {}}
        asked = {"model": model, "hardware": hardware, "requires": SHORT, **more}
        found: GateRow = first({**asked, "candidates": [candidate]})
        return found

    return ask


def _said(row: GateRow, constraint: str, *, holds: bool = False) -> list[Reason]:
    """The findings of one constraint: those that are not feasible, or all."""
    mine = [r for r in row.reasons if r.constraint == constraint]
    return [r for r in mine if holds or r.verdict != "feasible"]


def test_a_soft_finding_does_not_hide_a_refusal(row: Any) -> None:
    env = {"ROCR_VISIBLE_DEVICES": "GPU-abc"}
    said = _said(
        row("vllm", "0.10.0", "llama-8b", {"gpu": "rx-6800-xt"}, env=env), "platform_unsupported"
    )
    assert [r.verdict for r in said] == ["infeasible", "conditional"]
    assert "gfx1030" in said[0].says


@pytest.mark.parametrize(
    ("gpu", "variable", "read"),
    [
        ("h100-80gb", "CUDA_VISIBLE_DEVICES", True),
        ("h100-80gb", "HIP_VISIBLE_DEVICES", False),
        ("h100-80gb", "ROCR_VISIBLE_DEVICES", False),
        ("mi300x", "HIP_VISIBLE_DEVICES", True),
        ("mi300x", "CUDA_VISIBLE_DEVICES", True),
    ],
)
def test_a_list_of_devices_is_one_vendors(row: Any, gpu: str, variable: str, read: bool) -> None:
    found = row("vllm", "0.10.0", "llama-8b", {"gpu": gpu}, env={variable: "GPU-1"})
    assert bool(_said(found, "platform_unsupported")) is read


def test_a_driver_that_cannot_be_read_is_not_judged(row: Any) -> None:
    hardware = {"gpu": "rtx-4090", "driver": "unknown"}
    found = row("ollama", "0.33.0", "gguf-llama-8b", hardware)
    assert _said(found, "driver_too_old", holds=True) == []


@pytest.mark.parametrize(
    ("driver", "needs", "verdict"),
    [("470.57", "495", "conditional"), ("520.61.05", None, "feasible")],
)
def test_beside_an_engines_own_driver_that_of_its_cuda_counts(
    row: Any, driver: str, needs: str | None, verdict: str
) -> None:
    """LMDeploy 0.2.6: driver 495 by itself, and a wheel of CUDA 11 (CUDA 12 from 0.3.0 on)."""
    hardware = {"gpu": "a100-80gb", "driver": driver}
    (said,) = _said(row("lmdeploy", "0.2.6", "llama-8b", hardware), "driver_too_old", holds=True)
    assert said.verdict == verdict
    assert said.numbers.get("cuda") == (None if needs else 11)
    later = _said(row("lmdeploy", "0.3.0", "llama-8b", hardware), "driver_too_old")
    assert [r.numbers["cuda"] for r in later] == [12]


@pytest.mark.parametrize(
    ("args", "extra", "refused"),
    [
        ({}, {}, True),
        ({"dtype": "float32"}, {}, False),
        ({}, {"precision": "fp32"}, False),
        ({}, {"precision": "bf16"}, True),
        ({}, {"precision": "w4a16"}, True),
    ],
)
def test_a_processors_types_heed_the_workloads_precision(
    row: Any, args: dict[str, Any], extra: dict[str, Any], refused: bool
) -> None:
    cpu = {"cpu": {"arch": "s390x", "flags": ["vx"], "cores": 16, "memory_gb": 128}}
    found = row("vllm", "0.9.2", "qwen25-7b", cpu, args=args, model_extra=extra)
    assert bool(_said(found, "dtype_unsupported")) is refused


BEFORE_TORCH_28 = ("0.7.3", "0.8.0", "0.8.5", "0.9.0", "0.9.1", "0.9.2", "0.10.0", "0.10.1")


@pytest.mark.parametrize("gpu", ["b200", "rtx-5090"])
def test_blackwell_has_a_finding_until_pytorch_carries_its_code(row: Any, gpu: str) -> None:
    for version in BEFORE_TORCH_28:
        said = _said(row("vllm", version, "llama-8b", {"gpu": gpu}), "kernel_missing_for_arch")
        hard = order.key(version) < order.key("0.9.0")
        assert said[0].verdict == ("infeasible" if hard else "conditional"), (version, said)
    assert not _said(row("vllm", "0.10.2", "llama-8b", {"gpu": gpu}), "kernel_missing_for_arch")


def test_an_exclusion_has_not_ended_where_it_holds(store: FactStore) -> None:
    for engine in store.engines():
        rows = store.documented(engine, "excludes")
        for done in (f for f in rows if f.value == "ended"):
            same = (f for f in rows if f.subject == done.subject and f.layer == done.layer)
            for held in (f for f in same if f.value == "refuses"):
                assert not _overlap(done, held), (engine, done.subject, done.since, held.until)


def _overlap(one: Fact, other: Fact) -> bool:
    starts = [order.key(f.since) for f in (one, other) if f.since]
    ends = [order.key(f.until) for f in (one, other) if f.until]
    return not starts or not ends or max(starts) < min(ends)


@pytest.mark.parametrize(
    ("os", "verdict"),
    [("windows 11", "degraded"), ("Ubuntu 22.04 (WSL2 on Windows 11)", "degraded"), (None, None)],
)
def test_wsl_takes_an_override_as_linux_does(row: Any, os: str | None, verdict: str | None) -> None:
    hardware = {"gpu": "rx-6700-xt", "memory_gb": 64, **({"os": os} if os else {})}
    said = _said(row("ollama", "0.5.7", "gguf-llama-8b", hardware), "platform_unsupported")
    no_override = [r for r in said if "override exists" in r.says]
    assert bool(no_override) is (os == "windows 11"), said


def test_a_grace_host_is_not_asked_for_the_flags_of_x86(row: Any) -> None:
    hardware = {"gpu": "gb10", "cpu": {"flags": ["asimd"]}}
    found = row("ollama", "0.33.0", "gguf-llama-8b", hardware)
    assert not _said(found, "cpu_isa_missing", holds=True)


@pytest.mark.parametrize(
    ("os", "old"),
    [
        ("macOS (Apple M4) 15", False),
        ("macOS Apple M4", False),
        ("macos-m4", False),
        ("macOS 13", True),
        ("macos13.6", True),
        ("macOS Ventura 13.5", True),
        ("macOS (Sonoma) 14", False),
        ("macOS Sequoia 15", False),
    ],
)
def test_a_chips_name_is_no_version_of_the_system(row: Any, os: str, old: bool) -> None:
    hardware = {"gpu": "apple-m3-ultra", "os": os}
    assert bool(_said(row("ollama", "0.33.0", "gguf-llama-8b", hardware), "os_unsupported")) is old


@pytest.fixture
def _without_details(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts whose rows name no remedy, and nothing else beside the value but a flag."""
    plain = Knowledge.get

    def get(self: Knowledge, predicate: str, subject: str) -> Fact | None:
        fact = plain(self, predicate, subject)
        kept = {k: v for k, v in fact.detail.items() if k == "flag"} if fact else {}
        return msgspec.structs.replace(fact, detail=kept) if fact else None

    monkeypatch.setattr(Knowledge, "get", get)


_MIG = {"CUDA_VISIBLE_DEVICES": "MIG-377e0049-554c-540b-93c6-d0976f8426cb"}
_XEON = {"arch": "x86_64", "flags": ["avx2", "avx512f"], "cores": 32, "memory_gb": 128}
_MAINFRAME = {"arch": "s390x", "flags": ["vx"], "cores": 16, "memory_gb": 128}


@pytest.mark.usefixtures("_without_details")
@pytest.mark.parametrize(
    ("case", "constraint"),
    [
        (("ollama", "0.14.0", "gguf-llama-8b", {"gpu": "a100-80gb"}), "platform_unsupported"),
        (("sglang", "0.5.9", "llama-8b", {"cpu": _XEON}), "cpu_isa_missing"),
        (("llama.cpp", "b11549", "gguf-llama-8b", {"cpu": _MAINFRAME}), "format_unsupported"),
        (("vllm", "0.11.2", "llama-8b", {"gpu": "h100-80gb", "driver": "550.144"}), None),
    ],
)
def test_a_fact_without_a_remedy_leaves_none_unsaid(
    row: Any, case: tuple[Any, ...], constraint: str | None
) -> None:
    args = {"attention_backend": "torch_native"} if case[0] == "sglang" else {}
    found = row(*case, env=_MIG if case[0] == "ollama" else {}, args=args)
    assert "None" not in {r.remedy for r in found.reasons}
    assert constraint is None or _said(found, constraint), found.reasons


@pytest.mark.usefixtures("_without_details")
def test_a_schema_without_a_grammar_backend_has_a_remedy_of_its_own(row: Any) -> None:
    asked = {**SHORT, "structured_output": "json_schema"}
    found = row("tensorrt-llm", "1.2.1", "llama-8b", {"gpu": "h100-80gb"}, requires=asked)
    (said,) = _said(found, "structured_output_unenforced")
    assert said.remedy == "name the grammar backend by its flag"


def test_behind_a_floor_that_is_met_the_kernels_that_come_as_ptx_count(
    row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Knowledge.get

    def get(self: Knowledge, predicate: str, subject: str) -> Fact | None:
        fact = plain(self, predicate, "driver:ptx" if subject == "driver" else subject)
        if fact is None or subject != "driver":
            return fact
        return msgspec.structs.replace(fact, value="535")

    monkeypatch.setattr(Knowledge, "get", get)
    hardware = {"gpu": "h100-80gb", "driver": "550.144"}
    (said,) = _said(row("vllm", "0.11.2", "llama-8b", hardware), "driver_too_old")
    assert (said.verdict, said.numbers["needs"]) == ("conditional", "570")
