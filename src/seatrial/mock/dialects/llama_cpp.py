"""llama.cpp: settings on /props, tokens asked for by content, no TTFT metric."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="llama.cpp",
    metrics={
        "running": "llamacpp:requests_processing",
        "waiting": "llamacpp:requests_deferred",
        "prompt_tokens": "llamacpp:prompt_tokens_total",
        "generation_tokens": "llamacpp:tokens_predicted_total",
        "cached_tokens": "llamacpp:prompt_tokens_cached_total",
    },
    tokenize_key="content",
    server_header="llama.cpp",
    effective={
        "total_slots": 4,
        "model_ftype": "F16",
        "default_generation_settings": {"n_ctx": 4096},
    },
)
