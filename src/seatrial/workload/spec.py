"""The workload file: what the user asks for, strictly typed.

The keys are those of the published JSON schema ``seatrial/workload/1``. Unknown keys and wrong
types are collected (all of them, not the first) by ``workload.load``; this file only says what
the keys are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

SCHEMA = "seatrial/workload/1"

Percentiles = dict[Literal["mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"], float]
EngineName = Literal[
    "vllm",
    "sglang",
    "tensorrt-llm",
    "lmdeploy",
    "tgi",
    "llama.cpp",
    "ollama",
    "mlc-llm",
    "transformers",
]


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A folder with config.json, a .gguf, or a hub id with revision."""

    path: str
    precision: str | None = None
    revision: str | None = None


class Lengths(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens per request as a mean and a 99th percentile."""

    mean: float
    p99: float | None = None


class Synthetic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Traffic described, not recorded."""

    rate_per_s: float | None = None
    concurrency: int | None = None
    input_tokens: int | Lengths
    output_tokens: int | Lengths
    shared_prefix_tokens: int = 0
    turns: int = 1


class Slice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the trace: from ``start_s`` on, the first ``requests`` or ``duration_s``."""

    start_s: float = 0.0
    requests: int | None = None
    duration_s: float | None = None


class Traffic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the requests come from, and every scaling done to them.

    ``map`` names the columns of a file of no known format: our field -> its column, as the option
    of ``profile`` does. ``scale`` multiplies the arrival rate; ``input_scale``/``output_scale``
    multiply lengths.
    """

    trace: str | list[str] | None = None
    format: str | None = None
    map: dict[str, str] | None = None
    synthetic: Synthetic | None = None
    people: int | None = None
    scale: float = 1.0
    slice: Slice | None = None
    input_scale: float = 1.0
    output_scale: float = 1.0
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None


class Slo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the service must hold; a key that is absent or null is not asked for."""

    ttft_ms: Percentiles | None = None
    tpot_ms: Percentiles | None = None
    itl_ms: Percentiles | None = None
    e2e_ms: Percentiles | None = None
    error_rate: float | None = None
    goodput: float | None = None
    output_tokens_per_s: float | None = None
    deadline_s: float | None = None


class Lora(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Adapters that must be servable at once."""

    max_adapters: int = 1
    max_rank: int = 16


class Parallel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One side of a disaggregated deployment."""

    tp: int = 1
    replicas: int = 1


class PdDisaggregation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prefill and decode on separate replicas."""

    prefill: Parallel
    decode: Parallel


class Requires(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contract: what must work, or the candidate is out."""

    context_tokens: int | None = None
    concurrency: int | None = None
    structured_output: (
        Literal["json_schema", "json_object", "regex", "grammar", "choice"] | bool | None
    ) = None
    lora: Lora | bool | None = None
    streaming_cancel: bool = False
    prefix_cache: bool = False
    api: list[str] = []
    tools: bool | str | None = None
    reasoning_parser: bool | str | None = None
    logprobs: bool | int | None = None
    vision: bool = False
    audio: bool = False
    embeddings: bool = False
    speculative: bool | str | dict[str, Any] | None = None
    pd_disaggregation: bool | PdDisaggregation | None = None
    kv_cache_dtype: str | None = None


class Cpu(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host processor, described."""

    name: str | None = None
    arch: str | None = None
    flags: list[str] = []
    cores: int | None = None
    memory_gb: float | None = None


class Hardware(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What it must run on; ``cpu: auto`` is this machine."""

    gpu: str | None = None
    count: int = 1
    nodes: int = 1
    interconnect: (
        Literal["nvlink", "xgmi", "pcie", "infiniband", "ethernet-1g", "ethernet-100g"] | None
    ) = None
    driver: str | None = None
    os: str | None = None
    memory_gb: float | None = None
    disk_gb_per_s: float | None = None
    cpu: Literal["auto"] | Cpu | None = None


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What it may cost."""

    usd_per_hour: float | None = None
    usd_per_million_output_tokens: float | None = None


class Operations(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits on start, drain, recovery, upgrade and roll-back, in seconds."""

    cold_start_s: float | None = None
    drain_s: float | None = None
    recovery_s: float | None = None
    upgrade_s: float | None = None
    rollback_s: float | None = None


class Platform(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a serving platform must bring; an engine alone never satisfies these."""

    routing: bool = False
    canary: bool = False
    autoscaling: bool = False
    tenant_isolation: bool = False
    metrics: str | None = None


class Portability(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Vendors the choice must run on."""

    vendors: list[str] = []


class Team(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who will run it."""

    model_changes_per_month: float | None = None
    max_build_minutes: float | None = None
    engines_operated: list[str] = []


class Artefact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The weights a candidate loads. Without ``path`` they are derived from the model.

    ``format``: gguf, safetensors. ``quantization``: F16, BF16, Q8_0, Q4_0, Q4_1, awq, gptq, ...
    """

    format: str | None = None
    quantization: str | None = None
    path: str | None = None


class CandidateSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """engine @ version + artefact + configuration + placement, as the user writes it.

    ``version`` absent: the newest known. ``args``: the engine's own flags, with underscores.
    """

    engine: EngineName
    version: str | None = None
    name: str | None = None
    backend: Literal["turbomind", "pytorch"] | None = None
    artefact: Artefact | None = None
    args: dict[str, Any] = {}
    env: dict[str, str] = {}
    endpoint: str | None = None
    role: Literal["candidate", "study", "reference"] = "candidate"


class Trial(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How hard to try. ``margin`` is the practical difference, stated before the trial."""

    starts: int = 5
    budget_minutes: float = 30
    seed: int = 1
    margin: float = 0.03


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    schema: Literal["seatrial/workload/1"]
    name: str
    model: Model
    traffic: Traffic | None = None
    mode: Literal["online", "offline"] = "online"
    slo: Slo = Slo()
    requires: Requires = Requires()
    hardware: Hardware = Hardware()
    budget: Budget = Budget()
    operations: Operations = Operations()
    platform: Platform = Platform()
    portability: Portability = Portability()
    team: Team = Team()
    candidates: list[CandidateSpec] | None = None
    trial: Trial = Trial()


def request_limit(limits: Mapping[str, float] | None) -> float | None:
    """The limit that one request is held against for goodput, of a metric's percentiles; ms.

    The loosest percentile asked for: p95 <= 500 says that a request above 500 ms is one of the
    five in a hundred that may be. A mean counts only where nothing else is stated.
    """
    stated = dict(limits or {})
    percentiles = [value for name, value in stated.items() if name != "mean"]
    return max(percentiles or stated.values(), default=None)
