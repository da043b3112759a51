"""Ollama responses: counts and durations in nanoseconds.

``load_duration`` is a cold start and no part of the prefill. Newer versions tell cached tokens
apart (``prompt_eval_cached_count``); they are added to the input.
"""

from __future__ import annotations

from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, count, first, moment, safely, span
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member


def _sniff(head: Head) -> int:
    return 100 if {"created_at", "eval_count", "total_duration"} <= head.columns else 0


def _add(record: Record, rows: Rows) -> None:
    if record.get("done") is False:
        return
    took = span(record, "total_duration", unit="ns")
    end = moment(record, "created_at")
    fresh, cached = count(record, "prompt_eval_count"), count(record, "prompt_eval_cached_count")
    load = span(record, "load_duration", unit="ns") or 0
    prefill = span(record, "prompt_eval_duration", unit="ns")
    rows.add(
        arrival_ns=None if end is None or took is None else max(0, end - took),
        input_tokens=None if fresh is None else fresh + (cached or 0),
        output_tokens=count(record, "eval_count"),
        ttft_ns=None if prefill is None else load + prefill,
        e2e_ns=took,
        labels={"model": record.get("model"), "outcome": first(record, "done_reason")},
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    for line, record in json_records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="ollama", title="Ollama responses (JSON lines)", tested=False, sniff=_sniff, read=_read
)
