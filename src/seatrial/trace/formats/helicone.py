"""Helicone requests: rows of its table, or what its API and export tool write.

Latencies are milliseconds. Sessions are a property named after the header Helicone-Session-Id.
"""

from __future__ import annotations

from seatrial.trace.formats.openai_batch import body_features
from seatrial.trace.reader import Head, Options, Reader, records
from seatrial.trace.record import (
    Record,
    at,
    count,
    first,
    moment,
    parsed,
    prompt_text,
    safely,
    span,
)
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

_SESSION = ("Helicone-Session-Id", "helicone-session-id", "session_id")


def _sniff(head: Head) -> int:
    columns = head.columns
    if "request_created_at" not in columns:
        return 0
    known = {"completion_tokens", "delay_ms", "latency", "time_to_first_token", "response_status"}
    return 95 if known & columns else 0


def _add(record: Record, rows: Rows) -> None:
    properties = parsed(first(record, "properties", "request_properties"))
    body = parsed(first(record, "request_body"))
    status = first(record, "status", "response_status")
    failed = str(status).isdigit() and int(str(status)[:4]) >= 400
    rows.add(
        arrival_ns=moment(record, "request_created_at"),
        input_tokens=count(record, "prompt_tokens"),
        output_tokens=count(record, "completion_tokens"),
        session=next((v for k in _SESSION if (v := at(properties, k))), None),
        ttft_ns=span(record, "time_to_first_token", unit="ms"),
        e2e_ns=span(record, "latency", "delay_ms", unit="ms"),
        prompt=prompt_text(first(body, "messages", "prompt")),
        features=body_features(body),
        labels={
            "model": first(record, "model", "response_model", "request_model"),
            "client": first(record, "user_id", "request_user_id"),
            "outcome": "failed" if failed else "completed",
        },
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    if b"request_body" in member.head():
        rows.carries("stream", "tools", "schema", "images")
    for line, record in records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="helicone",
    title="Helicone requests (JSON, JSON lines, CSV)",
    tested=False,
    sniff=_sniff,
    read=_read,
)
