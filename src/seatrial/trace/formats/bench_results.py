"""Result files of load generators, read as traces: AIPerf, GuideLLM, ``vllm bench serve``.

What another tool measured is a log like any other: when requests were sent, how long they were,
how long they took. AIPerf writes JSON lines with metrics as value and unit; GuideLLM one document
with benchmarks and requests; vLLM one document with parallel lists.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, at, count, first, later, moment, safely, span
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member


def _is_aiperf(head: Head) -> int:
    metadata = head.record.get("metadata")
    there = isinstance(metadata, dict) and "request_start_ns" in metadata
    return 100 if there and "metrics" in head.record else 0


def _value(metrics: Any, name: str) -> Any:
    found = at(metrics, name)
    return found.get("value") if isinstance(found, dict) else found


def _aiperf(record: Record, rows: Rows) -> None:
    metrics, meta = record.get("metrics"), record.get("metadata")
    values: Record = {
        name: _value(metrics, name)
        for name in ("input_sequence_length", "output_sequence_length", "request_latency",
                     "time_to_first_token")
    }  # fmt: skip
    start = moment(meta, "request_start_ns", unit="ns")
    rows.add(
        arrival_ns=start,
        input_tokens=count(values, "input_sequence_length"),
        output_tokens=count(values, "output_sequence_length"),
        session=first(meta, "x_correlation_id", "conversation_id", "session_num"),
        ttft_ns=span(values, "time_to_first_token", unit="ms"),
        e2e_ns=span(values, "request_latency", unit="ms")
        or later(start, moment(meta, "request_end_ns", unit="ns")),
        labels={"outcome": "failed" if record.get("error") else "completed"},
    )


def _read_aiperf(member: Member, rows: Rows, _options: Options) -> None:
    rows.grain_ns = 1
    for line, record in json_records(member, rows):
        safely(line, record, rows, _aiperf)


def _document(member: Member, rows: Rows) -> Any:
    try:
        return msgspec.json.decode(member.document())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        rows.bad(1, "not valid JSON")
        return None


def _is_guidellm(head: Head) -> int:
    data = head.data[: 64 << 10]
    return 90 if (b'"benchmarks"' in data and b'"type_"' in data) or b"guidellm" in data else 0


def _guidellm(record: Record, rows: Rows) -> None:
    start = moment(record, "request_start_time", "start_time", unit="s")
    end = moment(record, "request_end_time", "end_time", unit="s")
    rows.add(
        arrival_ns=start,
        input_tokens=count(record, "prompt_tokens"),
        output_tokens=count(record, "output_tokens"),
        ttft_ns=span(record, "time_to_first_token_ms", unit="ms"),
        e2e_ns=later(start, end) or span(record, "request_latency", unit="s"),
        labels={"outcome": record.get("_outcome")},
    )


def _read_guidellm(member: Member, rows: Rows, _options: Options) -> None:
    place = 0
    names = (("successful", "completed"), ("errored", "failed"), ("incomplete", "cancelled"))
    benchmarks = at(_document(member, rows), "benchmarks")
    for benchmark in benchmarks if isinstance(benchmarks, list) else ():
        for group, outcome in names:
            listed = at(benchmark, f"requests.{group}")
            for record in listed if isinstance(listed, list) else ():
                place += 1
                if isinstance(record, dict):
                    safely(place, {**record, "_outcome": outcome}, rows, _guidellm)
                else:
                    rows.bad(place, "not a JSON object")


def _is_vllm(head: Head) -> int:
    data = head.data
    return 90 if b'"input_lens"' in data or (b'"ttfts"' in data and b'"itls"' in data) else 0


def _vllm(record: Record, rows: Rows) -> None:
    rows.add(
        arrival_ns=moment(record, "start", unit="s"),
        input_tokens=count(record, "input"),
        output_tokens=count(record, "output"),
        ttft_ns=span(record, "ttft", unit="s"),
        e2e_ns=record["e2e"],
        labels={"outcome": "failed" if record.get("error") else "completed"},
    )


def _read_vllm(member: Member, rows: Rows, _options: Options) -> None:
    document = _document(member, rows)
    names = {"input": "input_lens", "output": "output_lens", "ttft": "ttfts", "itl": "itls",
             "start": "start_times", "error": "errors"}  # fmt: skip
    lists = {k: at(document, v) for k, v in names.items() if isinstance(at(document, v), list)}
    for place in range(max(map(len, lists.values()), default=0)):
        record: Record = {k: v[place] for k, v in lists.items() if place < len(v)}
        record["e2e"] = _sum_ns(record.get("ttft"), record.pop("itl", None))
        safely(place + 1, record, rows, _vllm)


def _sum_ns(ttft: Any, gaps: Any) -> int | None:
    if not isinstance(ttft, (int, float)) or not isinstance(gaps, list):
        return None
    if not all(isinstance(gap, (int, float)) for gap in gaps):
        return None
    total = ttft + sum(gaps)
    return round(total * 1e9) if 0 <= total < 1e9 else None


READERS = (
    Reader(
        id="aiperf",
        title="AIPerf profile export (JSON lines)",
        tested=False,
        sniff=_is_aiperf,
        read=_read_aiperf,
    ),
    Reader(
        id="guidellm",
        title="GuideLLM benchmark file (JSON)",
        tested=False,
        sniff=_is_guidellm,
        read=_read_guidellm,
    ),
    Reader(
        id="vllm-bench",
        title="vllm bench serve result with --save-detailed (JSON)",
        tested=False,
        sniff=_is_vllm,
        read=_read_vllm,
    ),
)
