"""LMDeploy: tokens from /v1/encode."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="lmdeploy",
    metrics={
        "running": "lmdeploy:num_requests_running",
        "waiting": "lmdeploy:num_requests_waiting",
        "kv_usage": "lmdeploy:gpu_cache_usage_perc",
        "cached_tokens": "lmdeploy:prefix_cache_hit_rate",
        "ttft_sum": "lmdeploy:time_to_first_token_seconds_sum",
        "ttft_count": "lmdeploy:time_to_first_token_seconds_count",
    },
    tokenize_route="/v1/encode",
    tokenize_key="input",
    reports_cached=False,
    server_header="uvicorn",
)
