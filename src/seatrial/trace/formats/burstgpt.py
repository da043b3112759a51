"""BurstGPT CSV, versions 1 to 3: seconds from midnight of day one; zero output tokens failed.

Version 3 inserts ``Session ID`` and ``Elapsed time`` as columns 2 and 3, so columns are read by
name. ``Session ID`` is empty on API rows.
"""

from __future__ import annotations

from seatrial.trace.reader import Head, Options, Reader, csv_records
from seatrial.trace.record import Record, count, moment, safely, span
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member


def _sniff(head: Head) -> int:
    return 100 if {"timestamp", "request tokens", "response tokens"} <= head.columns else 0


def _add(record: Record, rows: Rows) -> None:
    output = count(record, "Response tokens")
    rows.add(
        arrival_ns=moment(record, "Timestamp", unit="s"),
        input_tokens=count(record, "Request tokens"),
        output_tokens=output,
        session=record.get("Session ID"),
        e2e_ns=span(record, "Elapsed time", unit="s"),
        labels={
            "model": record.get("Model"),
            "kind": record.get("Log Type"),
            "outcome": "failed" if output == 0 else "completed",
        },
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.grain_ns = 1_000_000
    for line, record in csv_records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="burstgpt",
    title="BurstGPT CSV, versions 1 to 3",
    tested=False,
    sniff=_sniff,
    read=_read,
)
