"""vLLM: role-only first event with empty content, cached tokens in usage, rich metrics."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="vllm",
    metrics={
        "running": "vllm:num_requests_running",
        "waiting": "vllm:num_requests_waiting",
        "prompt_tokens": "vllm:prompt_tokens_total",
        "generation_tokens": "vllm:generation_tokens_total",
        "cached_tokens": "vllm:prefix_cache_hits_total",
        "cache_queries": "vllm:prefix_cache_queries_total",
        "preemptions": "vllm:num_preemptions_total",
        "kv_usage": "vllm:kv_cache_usage_perc",
        "ttft_sum": "vllm:time_to_first_token_seconds_sum",
        "ttft_count": "vllm:time_to_first_token_seconds_count",
    },
    reasoning_field="reasoning",
    server_header="uvicorn",
    info_route="/server_info",
    pages={"/version": {"version": "0.33.0"}},
)
