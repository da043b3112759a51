"""One file per format. A new reader is a file here with ``READER`` and a line in ``NAMES``."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from seatrial.trace.reader import Reader

NAMES = (
    "azure_csv",
    "burstgpt",
    "mooncake",
    "bailian",
    "vidur",
    "claude_sessions",
    "ragpulse",
    "lmcache",
    "lengths",
    "lmsys_lora",
    "router_log",
    "otel",
    "openai_batch",
    "litellm",
    "langfuse",
    "helicone",
    "vllm_log",
    "sglang",
    "tgi",
    "llama_cpp",
    "ollama",
    "gateways",
    "access_log",
    "bench_results",
    "parquet",
    "generic",
)


@cache
def readers() -> dict[str, Reader]:
    """Every reader by its id, in the order of ``NAMES``."""
    found: dict[str, Reader] = {}
    for name in NAMES:
        module = import_module(f"seatrial.trace.formats.{name}")
        for reader in getattr(module, "READERS", None) or (module.READER,):
            found[reader.id] = reader
    return found
