"""llama.cpp: response bodies with ``timings``, or the server's text log.

``prompt_n`` leaves cached tokens out: the input is ``cache_n + prompt_n``. Older logs have no
``cache_n``; what was cached is then missing from the input, and a note says so.
"""

from __future__ import annotations

import re

from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, count, first, moment, safely, span
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

_PROMPT = re.compile(rb"prompt eval time =\s*([\d.]+) ms /\s*(\d+) tokens")
_EVAL = re.compile(rb"(?<!prompt )eval time =\s*([\d.]+) ms /\s*(\d+) (?:tokens|runs)")
_TOTAL = re.compile(rb"total time =\s*([\d.]+) ms")
NOTE = "input tokens without those that came from llama.cpp's prompt cache"


def _sniff(head: Head) -> int:
    if isinstance(head.record.get("timings"), dict):
        return 100 if "prompt_n" in head.record["timings"] else 0
    return 90 if any(_PROMPT.search(line) for line in head.lines) else 0


def _add(record: Record, rows: Rows) -> None:
    timings = record.get("timings")
    if not isinstance(timings, dict):
        raise ValueError("timings: missing")
    fresh, cached = count(timings, "prompt_n"), count(timings, "cache_n")
    if cached is None:
        rows.notes.append(NOTE) if NOTE not in rows.notes else None
    prompt, answer = span(timings, "prompt_ms", unit="ms"), span(timings, "predicted_ms", unit="ms")
    rows.add(
        arrival_ns=moment(record, "created", unit="s"),
        input_tokens=None if fresh is None else fresh + (cached or 0),
        output_tokens=count(timings, "predicted_n"),
        ttft_ns=prompt,
        e2e_ns=None if prompt is None or answer is None else prompt + answer,
        labels={"model": first(record, "model")},
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    if member.head().lstrip()[:1] == b"{":
        rows.grain_ns = 1_000_000_000
        for line, record in json_records(member, rows):
            safely(line, record, rows, _add)
        return
    rows.notes.append(NOTE)
    _text(member, rows)


def _text(member: Member, rows: Rows) -> None:
    prompt: tuple[int, int] | None = None
    answer: tuple[int, int] | None = None
    for number, line in member.lines():
        if line is None or len(line) > 4096:
            continue
        try:
            if found := _PROMPT.search(line):
                prompt, answer = (_ms(found[1]), int(found[2][:15])), None
            elif (found := _EVAL.search(line)) and prompt is not None:
                answer = _ms(found[1]), int(found[2][:15])
            elif _TOTAL.search(line) and prompt is not None and answer is not None:
                rows.add(
                    input_tokens=prompt[1],
                    output_tokens=answer[1],
                    ttft_ns=prompt[0],
                    e2e_ns=prompt[0] + answer[0],
                )
                prompt = answer = None
        except (ValueError, OverflowError):
            rows.bad(number, "a timing that is no number")


def _ms(text: bytes) -> int:
    return round(float(text[:20]) * 1e6)


READER = Reader(
    id="llama.cpp",
    title="llama.cpp responses with timings (JSON lines) or server log",
    tested=False,
    sniff=_sniff,
    read=_read,
)
