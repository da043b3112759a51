"""MLC-LLM: no health route, sums instead of gauges in the metrics."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="mlc-llm",
    metrics={
        "prompt_tokens": "prompt_tokens_sum",
        "generation_tokens": "completion_tokens_sum",
    },
    tokenize_route=None,
    reports_cached=False,
    server_header="uvicorn",
)
