"""What a candidate is asked to do, in words that belong to no engine.

An adapter turns ``Settings`` into the engine's own flags; ``CandidateSpec.args`` (the engine's
own spelling) win over them. ``None`` always means: leave it to the engine's default, and read
back what that default turned out to be.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from seatrial.workload.spec import CandidateSpec, Workload


class LoraAdapter(msgspec.Struct, frozen=True, kw_only=True):
    """One adapter: the name that requests use, and where its weights are."""

    name: str
    path: str


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Neutral settings of one start.

    Attributes:
        context_tokens: longest prompt + answer of one request, in tokens.
        concurrency: requests that are served at once (slots, max sequences).
        tp, pp: tensor and pipeline parallel size, in devices.
        kv_cache_dtype: f16, bf16, q8_0, fp8, ...; the adapter writes it as its engine does.
        prefix_cache: reuse of common prefixes on or off; None leaves the default.
        structured_output_backend: as the engine spells it (xgrammar, llguidance).
        dtype: activation dtype (bfloat16, float16, float32).
        threads: CPU threads of the engine; None: 1 on machines of up to 4 cores.
        served_name: the model name that requests carry; None: from the artefact's file name.
        port: the port asked for; None: a free one.
        devices: indices of the GPUs the engine may see; None: all of them.
        cpus: CPUs the engine is pinned to; None: all of them.
        ready_timeout_s: how long a start may take until the first generated token.
        cgroup_procs: ``cgroup.procs`` of a cgroup the engine joins before it starts.
        env: environment variables on top of the present ones.
    """

    context_tokens: int | None = None
    concurrency: int | None = None
    tp: int = 1
    pp: int = 1
    kv_cache_dtype: str | None = None
    prefix_cache: bool | None = None
    structured_output_backend: str | None = None
    max_lora_adapters: int = 0
    max_lora_rank: int = 16
    lora: list[LoraAdapter] = []
    dtype: str | None = None
    seed: int | None = None
    threads: int | None = None
    served_name: str | None = None
    port: int | None = None
    devices: list[int] | None = None
    cpus: list[int] | None = None
    cgroup_procs: str | None = None
    warmup: bool = True
    ready_timeout_s: float = 600.0
    env: dict[str, str] = {}


def default_threads() -> int:
    """Threads when nobody says: 1 on up to 4 usable cores, else half of them."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return 1 if (usable or 1) <= 4 else (usable or 1) // 2


def settings_for(spec: Workload, candidate: CandidateSpec, **changes: Any) -> Settings:
    """The settings a workload implies for one candidate; ``changes`` win.

    Both sides of a comparison get the same context, concurrency and seed from here.
    """
    requires = spec.requires
    lora = requires.lora
    values: dict[str, Any] = {
        "context_tokens": requires.context_tokens,
        "concurrency": requires.concurrency or _traffic_concurrency(spec),
        "kv_cache_dtype": requires.kv_cache_dtype,
        "prefix_cache": True if requires.prefix_cache else None,
        "seed": spec.trial.seed,
        "dtype": _dtype(spec.model.precision),
        "env": dict(candidate.env),
    }
    if lora is True:
        values["max_lora_adapters"] = 1
    elif lora:
        values["max_lora_adapters"] = lora.max_adapters
        values["max_lora_rank"] = lora.max_rank
    if spec.operations.cold_start_s:
        # a start over its limit is measured, not cut off at the limit
        values["ready_timeout_s"] = max(600.0, 3 * spec.operations.cold_start_s)
    return Settings(**{**values, **changes})


def _traffic_concurrency(spec: Workload) -> int | None:
    synthetic = spec.traffic.synthetic if spec.traffic else None
    return synthetic.concurrency if synthetic else None


def _dtype(precision: str | None) -> str | None:
    known = {"bf16": "bfloat16", "f16": "float16", "fp16": "float16", "f32": "float32"}
    return known.get((precision or "").lower())
