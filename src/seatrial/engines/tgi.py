"""Text Generation Inference (``text-generation-launcher``); in maintenance since 2025-12-11."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seatrial.engines import http
from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes, argv_of, merged
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

SIGNATURES = (
    Signature(
        id="fp8-weight-only",
        pattern=r"GPU does not support FP8, using Marlin FP8 kernel",
        meaning="FP8 saves memory only: the arithmetic is in 16 bits (Marlin)",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="no-flash",
        pattern=r"Could not import Flash Attention enabled models",
        meaning="models without Flash Attention: the generic path",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="no-graphs",
        pattern=r"Disabling CUDA Graphs",
        meaning="CUDA graphs are off",
        level="warning",
        optimised=False,
    ),
)


class Tgi(Adapter):
    """TGI; requests may carry any model name."""

    name = "tgi"
    title = "TGI"
    binary = "text-generation-launcher"
    routes = Routes(completions="/v1/completions", embeddings=None, version="/info")
    metrics = MetricNames(
        running="tgi_batch_current_size",
        waiting="tgi_queue_size",
        prefix_hits="tgi_request_skipped_tokens",
    )
    signatures = SIGNATURES
    structured = frozenset({"json_schema", "json_object", "regex"})
    ignore_eos = False
    drain = "drains; the launcher allows 90 s (--graceful-termination-timeout)"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """The launcher's flags."""
        flags: dict[str, Any] = {
            "max_total_tokens": settings.context_tokens,
            "max_input_tokens": settings.context_tokens - 1 if settings.context_tokens else None,
            "max_concurrent_requests": settings.concurrency,
            "num_shard": settings.tp if settings.tp > 1 else None,
            "dtype": settings.dtype,
            "kv_cache_dtype": settings.kv_cache_dtype,
        }
        if settings.lora:
            flags["lora_adapters"] = ",".join(f"{a.name}={a.path}" for a in settings.lora)
        return merged(flags, candidate.args)

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """``text-generation-launcher --model-id MODEL``."""
        own = {"HF_HUB_OFFLINE": "1"}
        argv = self.program(environment, "text-generation-launcher")
        argv += ["--model-id", str(artefact), "--hostname", host, "--port", str(port)]
        argv += argv_of({k: v for k, v in flags.items() if v is not False})
        return Launch(argv=argv, env=clean_environ(own), flags=flags, own_env=own)

    def constraint(self, kind: str, value: Any) -> dict[str, Any] | None:
        """``response_format`` with types of its own."""
        if kind == "json_schema":
            return {"response_format": {"type": "json_object", "value": value}}
        if kind == "regex":
            return {"response_format": {"type": "regex", "value": value}}
        return super().constraint(kind, value)

    def tokenize_body(self, model: str, text: str) -> dict[str, Any]:
        """Its own spelling."""
        return {"inputs": text, "add_special_tokens": False}

    def effective(self, base_url: str, log_text: str) -> dict[str, Any]:
        """From /info."""
        info = http.get(base_url, "/info").json() or {}
        return {
            "version": info.get("version"),
            "context_tokens": info.get("max_total_tokens"),
            "slots": info.get("max_concurrent_requests"),
            "dtype": info.get("model_dtype"),
            "device": info.get("model_device_type"),
        }
