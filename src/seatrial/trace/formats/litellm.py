"""LiteLLM: rows of LiteLLM_SpendLogs, or StandardLoggingPayload from a callback.

``completionStartTime`` equals ``endTime`` when a call was not streamed: that is no TTFT and is
dropped, not averaged. ``cache_hit`` is LiteLLM's own response cache, not the engine's. Stored
messages in the mode "latest turn" hold no prefix, so prefixes are taken from payloads only.
"""

from __future__ import annotations

from seatrial.trace.reader import Head, Options, Reader, records
from seatrial.trace.record import (
    Record,
    at,
    count,
    first,
    later,
    moment,
    parsed,
    prompt_text,
    safely,
    span,
)
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member


def _sniff(head: Head) -> int:
    columns = head.columns
    if not {"starttime", "prompt_tokens", "completion_tokens"} <= columns:
        return 0
    known = {"call_type", "spend", "model_group", "response_time", "cache_hit", "litellm_call_id"}
    return 95 if known & columns else 0


def _add(record: Record, rows: Rows) -> None:
    start, end = moment(record, "startTime"), moment(record, "endTime")
    begun = moment(record, "completionStartTime")
    streamed = begun is not None and end is not None and begun < end
    took = span(record, "request_duration_ms", unit="ms") or later(start, end)
    settings = parsed(first(record, "model_parameters"))
    marks = [name for name, there in (
        ("stream", streamed or record.get("stream") is True),
        ("tools", bool(at(settings, "tools"))),
        ("schema", bool(at(settings, "response_format"))),
    ) if there]  # fmt: skip
    rows.add(
        arrival_ns=start,
        input_tokens=count(record, "prompt_tokens"),
        output_tokens=count(record, "completion_tokens"),
        session=first(record, "session_id", "trace_id"),
        ttft_ns=later(start, begun) if streamed else None,
        e2e_ns=took,
        prompt=prompt_text(record.get("messages")) if "model_parameters" in record else None,
        features=marks,
        labels={
            "model": first(record, "model_group", "model"),
            "client": first(record, "end_user", "user", "team_id", "api_key"),
            "outcome": _outcome(record),
        },
    )


def _outcome(record: Record) -> object:
    status = record.get("status")
    return {"success": "completed", "failure": "failed"}.get(str(status).lower(), status)


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.carries("stream", "tools", "schema")
    for line, record in records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="litellm",
    title="LiteLLM spend-log rows or standard logging payload (CSV, JSON, JSON lines)",
    tested=False,
    sniff=_sniff,
    read=_read,
)
