"""Qwen-Bailian JSON lines (Alibaba): seconds, lengths, ids of 16-token blocks, chat chains.

``parent_chat_id`` is -1 for a first turn; the session is the root of the chain. ``type`` is the
kind of use (text, search, image, file). The ids are hashes of each block by itself, so they are
chained here for prefix reuse and kept unchained for chunk reuse.
"""

from __future__ import annotations

from seatrial.trace.flat import block_ids
from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, count, moment, safely
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

BLOCK_TOKENS = 16


def _sniff(head: Head) -> int:
    return 100 if {"chat_id", "parent_chat_id", "hash_ids"} <= head.columns else 0


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.block_tokens = BLOCK_TOKENS
    rows.grain_ns = 1_000_000
    roots: dict[object, object] = {}

    def add(record: Record, rows: Rows) -> None:
        chat, parent = record.get("chat_id"), record.get("parent_chat_id")
        if not isinstance(chat, (int, str)) or not isinstance(parent, (int, str)):
            raise ValueError("chat_id: not an id")
        content = block_ids(record.get("hash_ids"))
        root = chat if parent in (-1, "-1") else roots.get(parent, parent)
        rows.add(
            arrival_ns=moment(record, "timestamp", unit="s"),
            input_tokens=count(record, "input_length"),
            output_tokens=count(record, "output_length"),
            session=root,
            labels={"kind": record.get("type")},
            blocks=rows.chain(content),
            chunks=content,
        )
        roots[chat] = root

    for line, record in json_records(member, rows):
        safely(line, record, rows, add)


READER = Reader(
    id="qwen-bailian",
    title="Qwen-Bailian JSON lines (s, 16-token blocks, chat chains)",
    tested=False,
    sniff=_sniff,
    read=_read,
)
