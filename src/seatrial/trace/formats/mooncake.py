"""Mooncake JSON lines (Kimi): milliseconds, lengths, prefix-chained ids of 512-token blocks.

The last block of a request may be partial: there are ceil(input / 512) of them. The conversation
trace of the release is stamped in batches about 3 s apart; the fingerprint finds that by itself.
Tools that read this format with another block size make prompts of another length: 512 it is.
"""

from __future__ import annotations

from seatrial.trace.flat import Flat
from seatrial.trace.reader import Head, Reader

FLAT = Flat(
    time="timestamp",
    input="input_length",
    output="output_length",
    unit="ms",
    block_ids="hash_ids",
    block_tokens=512,
    grain_ns=1_000_000,
)


def _sniff(head: Head) -> int:
    if not {"timestamp", "input_length", "output_length", "hash_ids"} <= head.columns:
        return 0
    if {"chat_id", "parent_chat_id", "turn"} & head.columns:
        return 0
    return 90 if isinstance(head.record.get("hash_ids"), list) else 0


READER = Reader(
    id="mooncake",
    title="Mooncake JSON lines (ms, 512-token blocks)",
    tested=True,
    sniff=_sniff,
    read=FLAT.read,
)
