"""Lengths-only CSV of vidur and etalon: two token counts a row, no times.

Columns ``num_prefill_tokens``, ``num_decode_tokens`` (and their total and ratio, which follow).
"""

from __future__ import annotations

from seatrial.trace.flat import Flat
from seatrial.trace.reader import Head, Reader

FLAT = Flat(input="num_prefill_tokens", output="num_decode_tokens")


def _sniff(head: Head) -> int:
    there = {"num_prefill_tokens", "num_decode_tokens"} <= head.columns
    return 90 if there and "arrived_at" not in head.columns else 0


READER = Reader(
    id="lengths",
    title="lengths-only CSV of vidur and etalon (no times)",
    tested=True,
    sniff=_sniff,
    read=FLAT.read,
)
