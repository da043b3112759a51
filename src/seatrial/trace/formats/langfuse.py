"""Langfuse observations, as the API spells them (camelCase) or the database (snake_case).

Only rows of type GENERATION are requests; spans and agents around them would count one request
several times. Sessions need the trace's row, so the trace stands in for the session.
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
    if "type" not in columns:
        return 0
    new = {"traceid", "starttime"} <= columns and {"usagedetails", "modelparameters"} & columns
    old = {"trace_id", "start_time"} <= columns and {"usage_details", "level"} & columns
    return 95 if new or old else 0


def _add(record: Record, rows: Rows) -> None:
    if str(record.get("type")).upper() != "GENERATION":
        return
    usage = parsed(first(record, "usageDetails", "usage_details"))
    start = moment(record, "startTime", "start_time")
    begun = moment(record, "completionStartTime", "completion_start_time")
    end = moment(record, "endTime", "end_time")
    settings = parsed(first(record, "modelParameters", "model_parameters"))
    marks = [name for name, there in (
        ("stream", begun is not None),
        ("tools", bool(at(settings, "tools"))),
        ("schema", bool(at(settings, "response_format"))),
    ) if there]  # fmt: skip
    level = first(record, "level")
    rows.add(
        arrival_ns=start,
        input_tokens=count(usage, "input") or count(record, "promptTokens", "prompt_tokens"),
        output_tokens=count(usage, "output")
        or count(record, "completionTokens", "completion_tokens"),
        session=first(record, "sessionId", "session_id", "traceId", "trace_id"),
        ttft_ns=span(record, "timeToFirstToken", unit="s") or later(start, begun),
        e2e_ns=later(start, end),
        prompt=prompt_text(record.get("input")),
        answer=prompt_text(record.get("output")),
        features=marks,
        labels={
            "model": first(record, "model", "provided_model_name"),
            "outcome": "failed" if level == "ERROR" else "completed",
        },
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.carries("stream", "tools", "schema")
    for line, record in records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="langfuse",
    title="Langfuse observations (JSON, JSON lines, CSV)",
    tested=False,
    sniff=_sniff,
    read=_read,
)
