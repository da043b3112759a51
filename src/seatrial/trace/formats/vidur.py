"""Vidur and Splitwise CSV: relative seconds and two lengths.

Columns ``arrived_at`` (s), ``num_prefill_tokens``, ``num_decode_tokens``. The same rows without
``arrived_at`` are the lengths-only files of vidur and etalon.
"""

from __future__ import annotations

from seatrial.trace.flat import Flat
from seatrial.trace.reader import Head, Reader

FLAT = Flat(time="arrived_at", input="num_prefill_tokens", output="num_decode_tokens", unit="s")


def _sniff(head: Head) -> int:
    wanted = {"arrived_at", "num_prefill_tokens", "num_decode_tokens"}
    return 100 if wanted <= head.columns else 0


READER = Reader(
    id="vidur", title="Vidur / Splitwise CSV (seconds)", tested=True, sniff=_sniff, read=FLAT.read
)
