"""LMCache agent transcripts: whole prompts and answers as text, no token counts.

``timestamp`` is microseconds since 1970; ``session_id`` names the run. Prompts are cut into whole
pieces of 256 characters for prefix reuse. In some tau-bench records ``output`` holds the simulated
user: the log cannot tell.
"""

from __future__ import annotations

from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, moment, safely
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

COLUMNS = {"timestamp", "input", "output", "session_id"}


def _sniff(head: Head) -> int:
    return 95 if head.columns == COLUMNS else 0


def _add(record: Record, rows: Rows) -> None:
    prompt, answer = record.get("input"), record.get("output")
    if not isinstance(prompt, str) or not isinstance(answer, str):
        raise ValueError("input or output: not a text")
    rows.add(
        arrival_ns=moment(record, "timestamp", unit="us"),
        session=record.get("session_id"),
        prompt=prompt,
        answer=answer,
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.grain_ns = 1_000
    for line, record in json_records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="lmcache-agents",
    title="LMCache agent transcripts (JSON lines with text)",
    tested=True,
    sniff=_sniff,
    read=_read,
)
