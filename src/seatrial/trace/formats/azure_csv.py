"""Azure LLM inference traces of 2023, 2024 (CSV) and multimodal 2025.

``TIMESTAMP`` has 7 digits of fraction (100 ns) and no zone in 2023; the 2024 files have a zone
and mix rows with and without a fraction. Lines end in CRLF. ``NumImages`` only in multimodal.
"""

from __future__ import annotations

from seatrial.trace.flat import Flat
from seatrial.trace.reader import Head, Options, Reader
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

COLUMNS = {"timestamp", "contexttokens", "generatedtokens"}
FLAT = Flat(time="TIMESTAMP", input="ContextTokens", output="GeneratedTokens", grain_ns=100)
MULTIMODAL = Flat(
    time="TIMESTAMP",
    input="ContextTokens",
    output="GeneratedTokens",
    grain_ns=100,
    flags={"images": "NumImages"},
)


def _sniff(head: Head) -> int:
    return 100 if head.columns >= COLUMNS else 0


def _read(member: Member, rows: Rows, options: Options) -> None:
    images = b"NumImages" in member.head()[:200]
    (MULTIMODAL if images else FLAT).read(member, rows, options)


READER = Reader(
    id="azure-csv",
    title="Azure LLM inference trace 2023, 2024, multimodal (CSV)",
    tested=True,
    sniff=_sniff,
    read=_read,
)
