"""transformers serve: no metrics, no tokens, usage in the last event always."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="transformers",
    metrics={},
    metrics_route=None,
    tokenize_route=None,
    reports_cached=False,
    usage_always=True,
    server_header="uvicorn",
)
