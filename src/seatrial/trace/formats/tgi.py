"""TGI with ``--json-output``: the span of each "Success" line.

Durations are text with a unit (``1.234s``, ``87.1ms``). The log line is written when the request
ends; tokens are in response headers and not in the log, so they are gaps here.
"""

from __future__ import annotations

from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, at, first, moment, safely, span
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member


def _sniff(head: Head) -> int:
    data = head.data
    return 95 if b'"total_time"' in data and b'"queue_time"' in data and b'"level"' in data else 0


def _add(record: Record, rows: Rows) -> None:
    inner = record.get("span")
    inner = inner if isinstance(inner, dict) else record
    took = span(inner, "total_time", unit="s")
    if took is None:
        return
    end = moment(record, "timestamp")
    each = span(inner, "time_per_token", unit="s")
    busy = span(inner, "inference_time", unit="s")
    output = round(busy / each) if each and busy else None
    stream = str(first(inner, "name") or "").endswith("stream")
    rows.add(
        arrival_ns=None if end is None else max(0, end - took),
        output_tokens=output,
        e2e_ns=took,
        features=["stream"] if stream else [],
        labels={"outcome": "completed" if at(record, "level") == "INFO" else "failed"},
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.carries("stream")
    rows.notes.append("output tokens are inference time over time per token, as TGI logs them")
    for line, record in json_records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="tgi", title="TGI log with --json-output", tested=False, sniff=_sniff, read=_read
)
