"""TensorRT-LLM (``trtllm-serve``), the PyTorch backend.

Many settings are no command-line flags but keys of a YAML file; they are written as
``extra.KEY`` in ``args`` here and end up in that file. Structured output is enforced only with a
``guided_decoding_backend``, so one is always set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes, merged
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

EXTRA = "extra."
OPTIONS_FILE = "llm-options.yaml"

SIGNATURES = (
    Signature(
        id="fallback",
        pattern=r"(?i)falling back to (.{0,80})",
        meaning="falls back to {1}",
        level="warning",
        optimised=False,
    ),
)


class TensorRtLlm(Adapter):
    """trtllm-serve; version is that of the wheel or the container."""

    name = "tensorrt-llm"
    title = "TensorRT-LLM"
    distribution = "tensorrt-llm"
    binary = "trtllm-serve"
    routes = Routes(metrics="/prometheus/metrics", tokenize=None, version="/version")
    metrics = MetricNames(
        running="trtllm_num_requests_running",
        waiting="trtllm_num_requests_waiting",
        kv_usage="trtllm_kv_cache_utilization",
        prefix_hits="trtllm_kv_cache_hit_rate",
        ttft="trtllm_time_to_first_token_seconds",
    )
    signatures = SIGNATURES
    drain = "the HTTP server closes, then the engine; a parent kills after 10 s"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """Command-line flags, and ``extra.`` keys of the options file."""
        kv: dict[str, Any] = {}
        if settings.prefix_cache is not None:
            kv["enable_block_reuse"] = settings.prefix_cache
        if settings.kv_cache_dtype:
            kv["dtype"] = settings.kv_cache_dtype
        flags: dict[str, Any] = {
            "max_seq_len": settings.context_tokens,
            "max_batch_size": settings.concurrency,
            "tp_size": settings.tp if settings.tp > 1 else None,
            "pp_size": settings.pp if settings.pp > 1 else None,
            "extra.return_perf_metrics": True,
            "extra.guided_decoding_backend": settings.structured_output_backend or "xgrammar",
            "extra.dtype": settings.dtype,
            "extra.kv_cache_config": kv or None,
        }
        if settings.max_lora_adapters or settings.lora:
            flags["extra.lora_config"] = {
                "max_loras": max(settings.max_lora_adapters, len(settings.lora)),
                "max_lora_rank": settings.max_lora_rank,
                "lora_dir": [adapter.path for adapter in settings.lora],
            }
        return merged(flags, candidate.args)

    def flag_names(self, flags: dict[str, Any]) -> list[str]:
        """Only the command line's flags are known to the fact store."""
        return [name for name in flags if not name.startswith(EXTRA)]

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """``trtllm-serve MODEL``: its flags keep their underscores."""
        own = {"HF_HUB_OFFLINE": "1"}
        options = {
            k.removeprefix(EXTRA): v
            for k, v in flags.items()
            if k.startswith(EXTRA) and v is not None
        }
        argv = [*self.program(environment, "trtllm-serve"), str(artefact)]
        argv += ["--host", host, "--port", str(port)]
        for name, value in flags.items():
            if name.startswith(EXTRA) or value is None or value is False:
                continue
            argv += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        files = {}
        if options:
            argv += ["--extra_llm_api_options", f"@scratch@/{OPTIONS_FILE}"]
            files[OPTIONS_FILE] = msgspec.yaml.encode(options).decode()
        return Launch(argv=argv, env=clean_environ(own), flags=flags, own_env=own, files=files)
