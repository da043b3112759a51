"""RAGPulse JSON lines: five lists of content ids a request, for chunk reuse and prefix reuse.

The ids name content (system prompt, passages, history, web results, question), not prefixes, so
they are chained here in that order for prefix reuse, and kept unchained for chunk reuse. How many
tokens a piece has is not in the log: a request's tokens are spread evenly over its pieces.
"""

from __future__ import annotations

from seatrial.trace.flat import block_ids
from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, count, moment, safely
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

NOTE = "RAGPulse pieces are of unknown length; token-weighted hits weigh every piece alike"


def _sniff(head: Head) -> int:
    there = {"timestamp", "input_length", "hash_ids"} <= head.columns
    return 95 if there and isinstance(head.record.get("hash_ids"), dict) else 0


def _add(record: Record, rows: Rows) -> None:
    lists = record.get("hash_ids")
    if not isinstance(lists, dict):
        raise ValueError("hash_ids: not five lists")
    pieces: list[int] = []
    for name, ids in list(lists.items())[:16]:
        pieces += [rows.dense(f"{name}/{block}".encode()) for block in block_ids(ids)]
    rows.add(
        arrival_ns=moment(record, "timestamp", unit="s"),
        input_tokens=count(record, "input_length"),
        output_tokens=count(record, "output_length"),
        session=record.get("session_id"),
        blocks=rows.chain(pieces),
        chunks=pieces,
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.block_tokens = 1
    rows.notes.append(NOTE)
    for line, record in json_records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(id="ragpulse", title="RAGPulse JSON lines", tested=False, sniff=_sniff, read=_read)
