"""TGI: no cached tokens in usage, settings on /info."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="tgi",
    metrics={
        "running": "tgi_batch_current_size",
        "waiting": "tgi_queue_size",
        "cached_tokens": "tgi_request_skipped_tokens",
    },
    tokenize_key="inputs",
    reports_cached=False,
    server_header="",
    info_route="/info",
    effective={"version": "3.3.7", "max_total_tokens": 4096, "max_concurrent_requests": 128},
)
