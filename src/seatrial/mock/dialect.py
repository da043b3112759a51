"""What differs from engine to engine on the wire, as data.

The default speaks plain OpenAI. One file per engine in ``mock/dialects/`` holds that engine's
``DIALECT``: its metric names, its first event, its way of telling usage.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

import msgspec

from seatrial.core.errors import UsageError

OPENAI_METRICS = {
    "running": "mock:num_requests_running",
    "waiting": "mock:num_requests_waiting",
    "prompt_tokens": "mock:prompt_tokens_total",
    "generation_tokens": "mock:generation_tokens_total",
    "cached_tokens": "mock:prefix_cache_hits_total",
    "cache_queries": "mock:prefix_cache_queries_total",
    "preemptions": "mock:num_preemptions_total",
    "kv_usage": "mock:kv_cache_usage_perc",
    "ttft_sum": "mock:time_to_first_token_seconds_sum",
    "ttft_count": "mock:time_to_first_token_seconds_count",
}


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """How the mock engine speaks.

    Attributes:
        name: engine it imitates.
        metrics: our name of a gauge or counter -> the engine's; absent ones are not served.
        role_first: a role-only delta is sent at once, before the first token.
        reasoning_field: name of the delta's reasoning text, or None if it has none.
        reports_cached: usage carries ``prompt_tokens_details.cached_tokens``.
        usage_always: usage is sent even if ``stream_options`` does not ask for it.
        tokenize_route, tokenize_key: where text is tokenised, and the request's field.
        server_header: the ``Server`` header.
        effective: what the engine answers on ``/props`` or ``/get_server_info``.
        metrics_route: where the Prometheus text is; None: nowhere.
        pages: other GET routes and the JSON they answer.
        line_end: separator of event-stream lines (sse-starlette writes CRLF).
    """

    name: str = "openai"
    metrics: dict[str, str] = msgspec.field(default_factory=lambda: dict(OPENAI_METRICS))
    role_first: bool = True
    reasoning_field: str | None = "reasoning_content"
    reports_cached: bool = True
    usage_always: bool = False
    tokenize_route: str | None = "/tokenize"
    tokenize_key: str = "prompt"
    server_header: str = "seatrial-mock"
    info_route: str = "/props"
    effective: dict[str, Any] = {}
    metrics_route: str | None = "/metrics"
    pages: dict[str, Any] = {}
    line_end: str = "\n"


def load(name: str) -> Dialect:
    """The dialect of an engine; ``openai`` is the default one.

    Raises:
        UsageError: there is no file for that engine.
    """
    if name == "openai":
        return Dialect()
    module = re.sub(r"[^a-z0-9]", "_", name.lower())
    try:
        found = importlib.import_module(f"seatrial.mock.dialects.{module}")
    except ModuleNotFoundError:
        raise UsageError(
            f"the mock engine has no dialect {name!r}",
            where="--dialect",
            remedy="openai, or an engine with a file in seatrial/mock/dialects",
        ) from None
    dialect = found.DIALECT
    assert isinstance(dialect, Dialect)
    return dialect
