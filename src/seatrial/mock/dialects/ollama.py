"""Ollama: no metrics, no tokenize route, the version on a route of its own."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect(
    name="ollama",
    metrics={},
    metrics_route=None,
    tokenize_route=None,
    reports_cached=False,
    server_header="",
    pages={"/api/version": {"version": "0.33.0"}, "/api/ps": {"models": []}},
)
