"""Mooncake JSON lines (Kimi): milliseconds, lengths, prefix-chained ids of 512-token blocks.

The last block of a request may be partial: there are ceil(input / 512) of them. The conversation
trace of the release is stamped in batches about 3 s apart; the fingerprint finds that by itself.
Tools that read this format with another block size make prompts of another length: 512 it is,
unless a row says ``block_tokens``, as seatrial's own files do (with ``session`` and ``turn``).
"""

from __future__ import annotations

from seatrial.trace.flat import block_ids
from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, count, moment, safely
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

BLOCK_TOKENS = 512


def _add(record: Record, rows: Rows) -> None:
    size = count(record, "block_tokens") or BLOCK_TOKENS
    if (rows.block_tokens or size) != size:
        raise ValueError("block_tokens: another size than the rows before")
    rows.add(
        arrival_ns=moment(record, "timestamp", unit="ms"),
        input_tokens=count(record, "input_length"),
        output_tokens=count(record, "output_length"),
        session=record.get("session"),
        turn=count(record, "turn"),
        blocks=block_ids(record["hash_ids"]) if "hash_ids" in record else None,
    )
    if "hash_ids" in record:
        rows.block_tokens = size


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.grain_ns = 1_000_000
    for line, record in json_records(member, rows):
        safely(line, record, rows, _add)


def _sniff(head: Head) -> int:
    if not {"input_length", "output_length"} <= head.columns or "chat_id" in head.columns:
        return 0
    ids = head.record.get("hash_ids")
    if "timestamp" in head.columns and ids is None:
        return 70
    return 90 if isinstance(ids, list) else 0


READER = Reader(
    id="mooncake",
    title="Mooncake JSON lines (ms, 512-token blocks)",
    tested=True,
    sniff=_sniff,
    read=_read,
)
