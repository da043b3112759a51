"""vLLM's server log with ``--enable-log-requests``: arrivals and sampling parameters only.

The prefix of a line has no year, no zone and whole seconds. Versions up to 0.11 print the prompt's
token ids in it; from 0.20 on INFO lines hold neither input nor output tokens. Those gaps are shown.
"""

from __future__ import annotations

import re

from seatrial.trace.reader import Head, Options, Reader
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member
from seatrial.trace.timestamp import iso_ns

_LINE = re.compile(
    rb"(?:INFO|DEBUG) (\d\d-\d\d) (\d\d:\d\d:\d\d) .{0,200}?Received request (\S{1,200}?): ", re.S
)
_IDS = re.compile(rb"prompt_token_ids: \[([\d, ]*)\]")
_LORA = re.compile(rb"lora_request: (?!None)\S")
_SCHEMA = re.compile(rb"(?:guided_decoding|structured_outputs)=(?!None)\w")
NOTE = "vLLM's log has no year: the times are taken as of one year, and a new year breaks them"


def _sniff(head: Head) -> int:
    return 90 if any(_LINE.search(line) for line in head.lines) else 0


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.grain_ns = 1_000_000_000
    rows.notes.append(NOTE)
    rows.carries("schema", "lora")
    for number, line in member.lines():
        if line is None:
            rows.bad(number, "a line of more than 64 MiB")
            continue
        found = _LINE.search(line[:4096])
        if found is None:
            continue
        try:
            when = iso_ns(f"2000-{found[1].decode()} {found[2].decode()}")
        except ValueError:
            rows.bad(number, "a date that does not exist")
            continue
        ids = _IDS.search(line)
        marks = [n for n, p in (("schema", _SCHEMA), ("lora", _LORA)) if p.search(line)]
        length = None if ids is None or not ids[1].strip() else ids[1].count(b",") + 1
        rows.add(arrival_ns=when, input_tokens=length, features=marks)


READER = Reader(
    id="vllm-log",
    title="vLLM server log with --enable-log-requests (arrivals only)",
    tested=False,
    sniff=_sniff,
    read=_read,
)
