"""From a raw exchange to its outcome: status, times, tokens, findings. Runs after the hot path.

TTFT ends at the first event that carries content: text, reasoning or tool-call text, never a
role-only delta. Statuses are those of the request's record:

    failed     no connection, HTTP >= 400, an error body inside a 200, malformed JSON or a reset
               before any content
    cut        the stream ends after content without a finish_reason
    timed_out  a stall beyond the timeout
    cancelled  closed by plan
    in_flight  open when the window ends
    completed  everything else; what was odd about it is a finding
"""

from __future__ import annotations

import sys

import msgspec

from seatrial.loadgen import exchange as wire
from seatrial.loadgen.aligned import Scan
from seatrial.loadgen.answer import MALFORMED, TEXT, Said, read_event
from seatrial.loadgen.events import ndjson_events, sse_events
from seatrial.loadgen.exchange import RawExchange
from seatrial.loadgen.frames import Message, read_head, read_message
from seatrial.loadgen.outcome import (
    CANCELLED,
    COMPLETED,
    CUT,
    FAILED,
    IN_FLIGHT,
    STATUSES,
    TIMED_OUT,
    Outcome,
    take,
)
from seatrial.loadgen.regular import read_regular

__all__ = ["COMPLETED", "FAILED", "STATUSES", "Outcome", "answer_text", "json_text", "judge"]


def judge(
    raw: RawExchange, route: str, *, keep_text: bool = False, scan: Scan | None = None
) -> Outcome:
    """The outcome of one exchange. Never raises on what a server sent.

    Args:
        scan: the compiled pass over regular answers, where the run is long enough for it.
    """
    outcome = Outcome(
        index=raw.index,
        scheduled_ns=raw.scheduled_ns,
        sent_ns=raw.sent_ns,
        connect_ns=raw.connect_ns,
        done_ns=raw.done_ns,
    )
    if len(raw.stamps) >= 8:
        outcome.first_byte_ns = int.from_bytes(raw.stamps[:8], sys.byteorder)
    message = _read_short(outcome, raw, route, scan)
    if message is None:
        message = read_message(raw)
        if message.http_status is not None and message.http_status < 400:
            _read_body(outcome, message, route)
    outcome.http_status = message.http_status
    _set_status(outcome, raw, message)
    if not keep_text and (outcome.output_tokens is not None or outcome.status == FAILED):
        outcome.text = ""
    return outcome


def _read_short(
    outcome: Outcome, raw: RawExchange, route: str, scan: Scan | None
) -> Message | None:
    """Read a regular answer the short way; None if it is not one."""
    if raw.how != wire.WHOLE or raw.trailing or route not in ("chat", "completions"):
        return None
    found = read_head(raw)
    if found is None:
        return None
    message, start = found
    kind = message.headers.get("content-type", "")
    chunked = message.headers.get("transfer-encoding", "").lower() == "chunked"
    if message.http_status != 200 or not chunked or not kind.startswith("text/event-stream"):
        return None
    message.complete = True
    return message if read_regular(outcome, raw, start, route, scan) else None


def _read_body(outcome: Outcome, message: Message, route: str) -> None:
    kind = message.headers.get("content-type", "")
    if kind.startswith("application/json"):
        _read_whole(outcome, message, route)
        return
    pieces = message.pieces
    found = ndjson_events(pieces) if route == "ollama" else sse_events(pieces)
    parts: list[str] = []
    terminated = route in ("responses", "ollama")
    for stamp, data, whole in found:
        if data == b"[DONE]":
            terminated = True
            continue
        said = read_event(route, data)
        if said is MALFORMED:
            outcome.findings.append("malformed_event" if whole else "cut_event")
            if not outcome.event_ns and whole:
                outcome.error_kind, outcome.error = "malformed_json", _shown(data)
            continue
        take(outcome, stamp, said)
        if said.kinds:
            parts.append(said.text)
    outcome.text = "".join(parts)
    if not terminated and outcome.finish_reason is not None:
        outcome.findings.append("no_done")


def _read_whole(outcome: Outcome, message: Message, route: str) -> None:
    """An answer without streaming: its only token time is the end."""
    data = b"".join(piece for _, piece in message.pieces)
    said = _whole_response(data) if route == "responses" else read_event(route, data)
    if said is MALFORMED:
        outcome.error_kind, outcome.error = "malformed_json", _shown(data)
        return
    stamp = message.pieces[-1][0] if message.pieces else outcome.done_ns
    take(outcome, stamp, said)
    outcome.text = said.text
    if said.kinds:
        outcome.findings.append("not_streamed")


def _whole_response(data: bytes) -> Said:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return MALFORMED
    if not isinstance(value, dict):
        return MALFORMED
    kind = "response.completed" if value.get("status") == "completed" else "response.incomplete"
    said = read_event(
        "responses", msgspec.json.encode({"type": kind, "response": {**value, "error": None}})
    )
    texts = [
        part.get("text", "")
        for item in value.get("output") or []
        if isinstance(item, dict)
        for part in item.get("content") or []
        if isinstance(part, dict)
    ]
    text = "".join(str(t) for t in texts)
    return Said(TEXT if text else 0, text, said.finish, said.usage, None)


def _set_status(outcome: Outcome, raw: RawExchange, message: Message) -> None:
    """The rules at the head of this file, in order."""
    if raw.trailing:
        outcome.findings.append("trailing_bytes")
    if raw.how in (wire.CANCELLED, wire.OPEN):
        outcome.status = CANCELLED if raw.how == wire.CANCELLED else IN_FLIGHT
        outcome.error = outcome.error_kind = None
    elif raw.how == wire.REFUSED:
        _fail(outcome, "connect", raw.error)
    elif raw.how == wire.STALL:
        outcome.status = TIMED_OUT
        outcome.error_kind = "stall"
        outcome.error = raw.error or "no bytes within the stall timeout"
    elif message.http_status is not None and message.http_status >= 400:
        body = b"".join(piece for _, piece in message.pieces)
        _fail(outcome, f"http_{message.http_status}", _shown(body))
    elif outcome.finish_reason is not None and not (outcome.error and not outcome.event_ns):
        if not message.complete:
            outcome.findings.append("no_end_of_message")
        if not outcome.event_ns:
            outcome.findings.append("no_content")
        outcome.error = outcome.error_kind = None
    elif outcome.event_ns:
        outcome.status = CUT
        outcome.error_kind = outcome.error_kind or raw.how
        outcome.error = outcome.error or raw.error or "the stream ended without a finish_reason"
    else:
        kind = outcome.error_kind or (raw.how if raw.how != wire.WHOLE else "empty_answer")
        says = outcome.error or raw.error or message.broken or "no content came"
        _fail(outcome, kind, says)


def _fail(outcome: Outcome, kind: str, says: str) -> None:
    outcome.status = FAILED
    outcome.error_kind, outcome.error = kind, says or kind


def _shown(data: bytes) -> str:
    return data[:300].decode("utf-8", "replace")


def answer_text(raw: RawExchange, route: str) -> str:
    """The text of an answer: what the next turn of a session carries."""
    return judge(raw, route, keep_text=True).text


def json_text(text: str) -> bytes:
    """A text as the inside of a JSON string."""
    return msgspec.json.encode(text)[1:-1]
