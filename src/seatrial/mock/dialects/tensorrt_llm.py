"""TensorRT-LLM: Prometheus text on a route of its own, no tokenize route."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="tensorrt-llm",
    metrics={
        "running": "trtllm_num_requests_running",
        "waiting": "trtllm_num_requests_waiting",
        "kv_usage": "trtllm_kv_cache_utilization",
        "cached_tokens": "trtllm_kv_cache_hit_rate",
        "ttft_sum": "trtllm_time_to_first_token_seconds_sum",
        "ttft_count": "trtllm_time_to_first_token_seconds_count",
    },
    metrics_route="/prometheus/metrics",
    tokenize_route=None,
    server_header="uvicorn",
    info_route="/server_info",
    pages={"/version": {"version": "1.2.1"}},
)
