"""LMDeploy (``lmdeploy serve api_server``) with its two engines, TurboMind and PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes, argv_of, merged
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

SIGNATURES = (
    Signature(
        id="other-engine",
        pattern=r"Fallback to pytorch engine because",
        meaning="another engine than asked for: PyTorch instead of TurboMind",
        level="failure",
        optimised=False,
    ),
    Signature(
        id="grammar-off",
        pattern=r"Failed to initialize guided decoding, disable guided decoding",
        meaning="constraints are silently switched off for that request",
        level="failure",
    ),
)


class LmDeploy(Adapter):
    """LMDeploy; a candidate's ``backend`` chooses turbomind or pytorch."""

    name = "lmdeploy"
    title = "LMDeploy"
    distribution = "lmdeploy"
    binary = "lmdeploy"
    routes = Routes(tokenize="/v1/encode")
    metrics = MetricNames(
        running="lmdeploy:num_requests_running",
        waiting="lmdeploy:num_requests_waiting",
        kv_usage="lmdeploy:gpu_cache_usage_perc",
        prefix_hits="lmdeploy:prefix_cache_hit_rate",
        ttft="lmdeploy:time_to_first_token_seconds",
    )
    signatures = SIGNATURES
    structured = frozenset({"json_schema", "json_object", "regex"})
    drain = "waits for open connections as any uvicorn server, then the engine closes"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """api_server's flags."""
        flags: dict[str, Any] = {
            "model_name": self.served_name(artefact, settings),
            "backend": candidate.backend,
            "session_len": settings.context_tokens,
            "max_batch_size": settings.concurrency,
            "tp": settings.tp if settings.tp > 1 else None,
            "dtype": settings.dtype,
            "quant_policy": _quant_policy(settings.kv_cache_dtype),
            "enable_prefix_caching": True if settings.prefix_cache else None,
        }
        if settings.lora:
            flags["adapters"] = [f"{a.name}={a.path}" for a in settings.lora]
        return merged(flags, candidate.args)

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """``lmdeploy serve api_server MODEL``; False leaves a flag out."""
        own = {"HF_HUB_OFFLINE": "1"}
        argv = [*self.program(environment, "lmdeploy"), "serve", "api_server", str(artefact)]
        argv += ["--server-name", host, "--server-port", str(port)]
        argv += argv_of({k: v for k, v in flags.items() if v is not False})
        return Launch(argv=argv, env=clean_environ(own), flags=flags, own_env=own)

    def constraint(self, kind: str, value: Any) -> dict[str, Any] | None:
        """A regular expression is a response format of its own."""
        if kind == "regex":
            return {"response_format": {"type": "regex_schema", "regex_schema": value}}
        return super().constraint(kind, value)

    def tokenize_body(self, model: str, text: str) -> dict[str, Any]:
        """Its own spelling."""
        return {"input": text, "do_preprocess": False, "add_bos": False}


def _quant_policy(kv_cache_dtype: str | None) -> int | None:
    """KV cache in 4 or 8 bits is a number here."""
    return {"int4": 4, "int8": 8}.get(kv_cache_dtype or "")
