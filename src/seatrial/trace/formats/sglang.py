"""SGLang: ``--log-requests`` in JSON, and ``--export-metrics-to-file``.

Of the request log only ``request.finished`` rows count. Its text is cut at 2,048 characters at
the default level, so prefixes are taken from whole lists of input ids only, in pieces of 16. In
the metrics file ``request_parameters`` is JSON inside a string.
"""

from __future__ import annotations

from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, at, count, first, later, moment, parsed, safely, span
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

PIECE = 16


def _sniff(head: Head) -> int:
    if {"event", "rid", "obj"} <= head.columns:
        return 100 if str(head.record.get("event")).startswith("request.") else 0
    return 100 if {"request_parameters", "prompt_tokens", "e2e_latency"} <= head.columns else 0


def _add(record: Record, rows: Rows) -> None:
    if "event" in record and record.get("event") != "request.finished":
        return
    meta = at(record, "out.meta_info") if "event" in record else record
    asked = record.get("obj") if "event" in record else parsed(record.get("request_parameters"))
    if not isinstance(meta, dict):
        raise ValueError("out.meta_info: missing")
    start = moment(meta, "request_received_ts") or moment(record, "timestamp")
    took = span(meta, "e2e_latency", unit="s")
    sampling = parsed(at(asked, "sampling_params"))
    marks = [name for name, there in (
        ("stream", at(asked, "stream") is True),
        ("schema", any(at(sampling, k) for k in ("json_schema", "regex", "ebnf"))),
    ) if there]  # fmt: skip
    if "request_received_ts" not in meta and start is not None and took is not None:
        start = max(0, start - took)  # the row is written when the request ends
    total = count(meta, "prompt_tokens")
    rows.add(
        arrival_ns=start,
        input_tokens=total,
        output_tokens=count(meta, "completion_tokens"),
        session=first(asked, "session_params.id", "session_id"),
        ttft_ns=_first_token(meta, start),
        e2e_ns=took,
        features=marks,
        labels={"outcome": _outcome(meta), "adapter": at(asked, "lora_path")},
        blocks=_blocks(at(asked, "input_ids"), total, rows),
    )


def _first_token(meta: Record, start: int | None) -> int | None:
    value = first(meta, "first_token_latency")
    if value is not None:
        return span(meta, "first_token_latency", unit="s")
    return later(start, moment(meta, "prefill_finished_time"))


def _outcome(meta: Record) -> object:
    reason = meta.get("finish_reason")
    return at(reason, "type") if isinstance(reason, dict) else reason


def _blocks(ids: object, total: int | None, rows: Rows) -> list[int] | None:
    if not isinstance(ids, list) or len(ids) != total:
        return None
    rows.block_tokens = PIECE
    whole = len(ids) - len(ids) % PIECE
    pieces = [repr(ids[i : i + PIECE]).encode() for i in range(0, whole, PIECE)]
    return rows.chain(rows.dense(piece) for piece in pieces)


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.carries("stream", "schema")
    for line, record in json_records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="sglang",
    title="SGLang request log (JSON) or exported request metrics",
    tested=False,
    sniff=_sniff,
    read=_read,
)
