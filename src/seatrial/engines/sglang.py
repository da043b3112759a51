"""SGLang (``sglang serve`` or ``python -m sglang.launch_server``).

Metrics and the report of cached tokens are off by default and are switched on here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from seatrial.engines import http
from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes, argv_of, merged
from seatrial.engines.capacity import adapters, placement
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

SIGNATURES = (
    Signature(
        id="grammar-off",
        pattern=r"Falling back to grammar_backend='none'",
        meaning="constraints are silently switched off",
        level="failure",
        optimised=None,
    ),
    Signature(
        id="not-fully-optimised",
        pattern=r"quantization is not fully optimized yet",
        meaning="this quantisation is not fully optimised",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="dtype-downgrade",
        pattern=r"Compute capability below sm80\. Use float16",
        meaning="bfloat16 is not supported by the device: float16 instead",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="generic-model",
        pattern=r"has no SGLang implementation, falling back to Transformers",
        meaning="no model code of its own: the generic Transformers class",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="slow-kernels",
        pattern=r"Falling back to slow implementation|unoptimized AWQ kernels",
        meaning="slower kernels for quantised layers",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="fp4-weight-only",
        pattern=r"weight-only via FP4 Marlin",
        meaning="FP4 saves memory only: the arithmetic is in 16 bits (Marlin)",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="moe-untuned",
        pattern=r"Using default MoE kernel config",
        meaning="no tuned expert kernel for this device",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="torch-native",
        pattern=r"attention_backend='torch_native'",
        meaning="attention is plain PyTorch, one request after another",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="attention-backend",
        pattern=r"attention_backend='(flashinfer|fa3|fa4|triton|trtllm_mha|aiter|intel_amx)'",
        meaning="attention backend {1}",
        optimised=True,
    ),
)

_KV = {"bf16": "bfloat16"}


class Sglang(Adapter):
    """SGLang; version is that of the wheel."""

    name = "sglang"
    title = "SGLang"
    distribution = "sglang"
    binary = "sglang"
    routes = Routes(
        version="/server_info",
        load_lora="/load_lora_adapter",
        unload_lora="/unload_lora_adapter",
        flush_cache="/flush_cache",
    )
    metrics = MetricNames(
        running="sglang:num_running_reqs",
        waiting="sglang:num_queue_reqs",
        kv_usage="sglang:token_usage",
        prefix_hits="sglang:cached_tokens",
        preemptions="sglang:num_retracted_reqs",
        ttft="sglang:time_to_first_token_seconds",
        prompt_tokens="sglang:prompt_tokens",
        output_tokens="sglang:generation_tokens",
    )
    signatures = SIGNATURES
    structured = frozenset({"json_schema", "json_object", "regex", "grammar"})
    drain = "drains without a limit, polling every 5 s; /health answers 503 meanwhile"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """The server's flags."""
        flags: dict[str, Any] = {
            "served_model_name": self.served_name(artefact, settings),
            "context_length": settings.context_tokens,
            "max_running_requests": settings.concurrency,
            "dtype": settings.dtype,
            "random_seed": settings.seed,
            "kv_cache_dtype": _KV.get(settings.kv_cache_dtype or "", settings.kv_cache_dtype),
            "grammar_backend": settings.structured_output_backend,
            "enable_metrics": True,
            "enable_cache_report": True,
        }
        if settings.prefix_cache is False:
            flags["disable_radix_cache"] = True
        flags |= placement(settings, tp="tp_size", pp="pp_size")
        flags |= adapters(settings, most="max_loras_per_batch", given="lora_paths")
        return merged(flags, candidate.args)

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """``sglang serve --model-path MODEL``; there is no ``--no-`` form: False leaves it out."""
        own = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        if flags.get("device") == "cpu":
            own |= {"SGLANG_USE_CPU_ENGINE": "1", "OMP_NUM_THREADS": "1"}
        argv = self.program(environment, "sglang")
        argv += ["serve", "--model-path", str(artefact), "--host", host, "--port", str(port)]
        argv += argv_of({k: v for k, v in flags.items() if v is not False})
        return Launch(argv=argv, env=clean_environ(own), flags=flags, own_env=own)

    def constraint(self, kind: str, value: Any) -> dict[str, Any] | None:
        """``regex`` and ``ebnf`` are fields of their own."""
        if kind in ("regex", "grammar"):
            return {"ebnf" if kind == "grammar" else "regex": value}
        return super().constraint(kind, value)

    def cold_start(self, log_text: str) -> dict[str, float]:
        """Weights and graph capture, where the log times them."""
        found: dict[str, float] = {}
        for name, pattern in (
            ("weights", r"Load weight end\. elapsed=([\d.]+) s"),
            ("warmup", r"Capture (?:cuda|CUDA|decode).*?elapsed[=:] ?([\d.]+)"),
        ):
            hit = re.search(pattern, log_text)
            if hit:
                found[name] = float(hit[1])
        return found

    def effective(self, base_url: str, log_text: str) -> dict[str, Any]:
        """From /server_info, which shows every argument as it was resolved."""
        info = http.get(base_url, "/server_info").json() or {}
        radix_off = info.get("disable_radix_cache")
        models = http.get(base_url, "/v1/models").json() or {}
        card = (models.get("data") or [{}])[0]
        return {
            "version": info.get("version"),
            "context_tokens": info.get("context_length") or card.get("max_model_len"),
            "slots": info.get("max_running_requests"),
            "kv_cache_dtype": info.get("kv_cache_dtype"),
            "kv_capacity_tokens": info.get("max_total_num_tokens") or info.get("max_total_tokens"),
            "dtype": info.get("dtype"),
            "weights": info.get("quantization"),
            "prefix_cache": None if radix_off is None else not radix_off,
            "max_batch_tokens": info.get("chunked_prefill_size"),
            "backend": info.get("attention_backend"),
            "structured_output_backend": info.get("grammar_backend"),
            "tp": info.get("tp_size"),
            "pp": info.get("pp_size"),
            "device": info.get("device"),
        }
