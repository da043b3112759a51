"""Fixtures of the gate's tests: models of a given shape, and a gate run in one call."""

from __future__ import annotations

import datetime
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from seatrial import facts, gate, hardware
from seatrial.gate.table import GateRow, GateTable
from seatrial.model.gguf_types import TYPES
from seatrial.workload.spec import Workload

DATA = Path(__file__).resolve().parents[2] / "data" / "gate"
_TYPES = {name: (number, block, size) for number, (name, block, size) in TYPES.items()}


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _pair(key: str, value: Any) -> bytes:
    if isinstance(value, str):
        return _string(key) + struct.pack("<I", 8) + _string(value)
    return _string(key) + struct.pack("<II", 4, value)


def _metadata(shape: dict[str, Any]) -> dict[str, Any]:
    arch = shape["gguf"]
    names = {
        "block_count": "block_count",
        "embedding_length": "embedding_length",
        "head_count": "attention.head_count",
        "head_count_kv": "attention.head_count_kv",
        "feed_forward_length": "feed_forward_length",
        "context_length": "context_length",
        "vocab": "vocab_size",
        "kv_lora_rank": "attention.kv_lora_rank",
        "experts": "expert_count",
        "experts_used": "expert_used_count",
        "expert_feed_forward_length": "expert_feed_forward_length",
        "sliding_window": "attention.sliding_window",
        "key_length": "attention.key_length",
        "pooling": "pooling_type",
        "full_attention_interval": "full_attention_interval",
        "ssm_conv_kernel": "ssm.conv_kernel",
        "ssm_inner_size": "ssm.inner_size",
        "ssm_state_size": "ssm.state_size",
        "ssm_time_step_rank": "ssm.time_step_rank",
        "ssm_group_count": "ssm.group_count",
    }
    values = {"general.architecture": arch, "tokenizer.ggml.model": "gpt2"}
    values |= {f"{arch}.{names[k]}": v for k, v in shape.items() if k in names}
    if "kv_lora_rank" in shape:
        values[f"{arch}.rope.dimension_count"] = 64
    return values


def write_gguf(path: Path, shape: dict[str, Any]) -> None:
    """A GGUF header whose tensors add up to about the model's size; no weights behind it."""
    kind, block, size = _TYPES[shape["type"]]
    hidden, experts = shape["embedding_length"], shape.get("experts", 1)
    widths = ("expert_feed_forward_length", "feed_forward_length")[experts <= 1 :]
    wide = next(shape[name] for name in widths if name in shape)
    rows, offset = b"", 0
    tensors = [("token_embd.weight", (hidden, shape["vocab"]))]
    for n in shape.get("blocks", range(shape["block_count"])):
        tensors.append((f"blk.{n}.attn.weight", (hidden, 4 * hidden)))
        tensors.append((f"blk.{n}.ffn.weight", (hidden, 3 * wide * experts)))
    for name, dims in tensors:
        elements = dims[0] * dims[1] // block * block
        dims = (elements // dims[1] // block * block or block, dims[1])
        rows += _string(name) + struct.pack("<I", 2) + struct.pack("<QQ", *dims)
        rows += struct.pack("<IQ", kind, offset)
        offset += dims[0] * dims[1] // block * size
        offset += -offset % 32
    values = _metadata(shape)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    path.write_bytes(head + b"".join(_pair(k, v) for k, v in values.items()) + rows)


def write_model(folder: Path, shape: dict[str, Any]) -> Path:
    """A model of this shape in ``folder``; returns what ``model.path`` should name."""
    folder.mkdir(parents=True, exist_ok=True)
    if "gguf" in shape:
        files = shape["files"]
        if files == 1:
            write_gguf(folder / "model.gguf", shape)
            return folder / "model.gguf"
        for n in range(1, files + 1):
            first = (n - 1) * shape["block_count"] // files
            part = {**shape, "blocks": range(first, n * shape["block_count"] // files)}
            write_gguf(folder / f"model-{n:05d}-of-{files:05d}.gguf", part)
        return folder / f"model-00001-of-{files:05d}.gguf"
    body = {k: v for k, v in shape.items() if k not in ("mlc", "engine")}
    name = "mlc-chat-config.json" if shape.get("mlc") else "config.json"
    (folder / name).write_text(json.dumps(body))
    if shape.get("engine"):
        (folder / "rank0.engine").write_bytes(b"plan")
    return folder


@pytest.fixture(scope="session")
def day_of_the_facts(store: facts.FactStore) -> datetime.date:
    """The day on which the newest of the shipped facts was entered."""
    predicates = ("excludes", "requires", "supports")
    entered = (f for e in store.engines() for p in predicates for f in store.documented(e, p))
    return datetime.date.fromisoformat(max(f.verified_on for f in entered))


@pytest.fixture(autouse=True)
def _not_older(monkeypatch: pytest.MonkeyPatch, day_of_the_facts: datetime.date) -> None:
    """What is tested is the knowledge as it was entered: it does not age while the tests stay."""
    monkeypatch.setattr(facts.record, "current_day", lambda: day_of_the_facts)


@pytest.fixture(scope="session")
def shapes() -> dict[str, dict[str, Any]]:
    """Name -> configuration, from the files of models in tests/data/gate."""
    named = (
        "models.yaml",
        "independent-models.yaml",
        "unseen-models.yaml",
        "unseen-6-models.yaml",
        "unseen-7-models.yaml",
        "unseen-8-models.yaml",
        "unseen-9-models.yaml",
        "unseen-10-models.yaml",
        "unseen-11-models.yaml",
        "unseen-12-models.yaml",
        "unseen-13-models.yaml",
        "unseen-14-models.yaml",
        "unseen-15-models.yaml",
        "unseen-16-models.yaml",
        *sorted(f.name for f in DATA.glob("archetypes-*-models.yaml")),
    )
    return {k: v for f in named for k, v in yaml.safe_load((DATA / f).read_text()).items()}


@pytest.fixture(scope="session")
def store() -> facts.FactStore:
    """The shipped facts, nothing of the user's."""
    return facts.load(user=Path("/nonexistent"))


@pytest.fixture(scope="session")
def host() -> hardware.Host:
    """A host that is never the target unless a test says so."""
    return hardware.detect()


@pytest.fixture
def write() -> Callable[[Path, dict[str, Any]], Path]:
    """Write a model of a shape into a folder."""
    return write_model


Judge = Callable[..., GateTable]


@pytest.fixture
def judge(
    shapes: dict[str, Any], store: facts.FactStore, host: hardware.Host, tmp_path: Path
) -> Judge:
    """``judge({...workload...}, installed={})``: ``model`` is a name from models.yaml."""

    def run(
        asked: dict[str, Any],
        *,
        installed: dict[str, list[str]] | None = None,
        landscape: bool = False,
        own_host: hardware.Host | None = None,
    ) -> GateTable:
        path = write_model(tmp_path / "model", shapes[asked["model"]])
        body = {
            "schema": "seatrial/workload/1",
            "name": "case",
            **asked,
            "model": {"path": str(path), **asked.get("model_extra", {})},
        }
        body.pop("model_extra", None)
        spec = msgspec.convert(body, Workload)
        return gate.run(
            spec,
            base_dir=tmp_path,
            fingerprint=None,
            facts=store,
            host=own_host or host,
            installed=installed or {},
            landscape=landscape,
        )

    return run


@pytest.fixture
def first(judge: Judge) -> Callable[..., GateRow]:
    """The row of the only candidate."""

    def run(asked: dict[str, Any], **more: Any) -> GateRow:
        return judge(asked, **more).candidates[0]

    return run


@pytest.fixture
def as_documented(first: Callable[..., GateRow]) -> Callable[[dict[str, Any]], None]:
    """Judge one situation of a data file, and compare with its outcome and its reasons."""

    def compare(case: dict[str, Any]) -> None:
        candidate = {k: case[k] for k in ("engine", "version", "args", "env") if k in case}
        asked = {k: case[k] for k in ("model", "hardware", "requires") if k in case}
        row = first({**asked, "candidates": [candidate]})
        told = [r for r in row.reasons if r.verdict != "feasible"]
        said = [f"{r.verdict} {r.constraint}: {r.says}" for r in told]
        assert row.verdict == case.get("got", case["verdict"]), said
        may_say = {c.id: c.verdicts for c in gate.constraints()}
        assert [r for r in told if r.verdict not in may_say[r.constraint]] == [], "not declared"
        if case["verdict"] != "feasible" and "got" not in case:
            assert row.reasons[0].constraint in case["constraint"], said
            assert row.reasons[0].remedy

    return compare
