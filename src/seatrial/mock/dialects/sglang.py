"""SGLang: every resolved argument on /server_info, cached tokens as a counter."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="sglang",
    metrics={
        "running": "sglang:num_running_reqs",
        "waiting": "sglang:num_queue_reqs",
        "prompt_tokens": "sglang:prompt_tokens_total",
        "generation_tokens": "sglang:generation_tokens_total",
        "cached_tokens": "sglang:cached_tokens_total",
        "preemptions": "sglang:num_retracted_reqs",
        "kv_usage": "sglang:token_usage",
        "ttft_sum": "sglang:time_to_first_token_seconds_sum",
        "ttft_count": "sglang:time_to_first_token_seconds_count",
    },
    server_header="uvicorn",
    info_route="/server_info",
    effective={
        "version": "0.5.23",
        "context_length": 4096,
        "max_running_requests": 8,
        "attention_backend": "fa3",
        "disable_radix_cache": False,
        "grammar_backend": "xgrammar",
        "tp_size": 1,
    },
)
