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

import msgspec

from seatrial.loadgen import exchange as wire
from seatrial.loadgen.answer import MALFORMED, REASONING, TEXT, Said, Usage, read_event
from seatrial.loadgen.events import ndjson_events, sse_events
from seatrial.loadgen.exchange import RawExchange
from seatrial.loadgen.frames import Message, read_message

COMPLETED, FAILED, CUT = "completed", "failed", "cut"
TIMED_OUT, CANCELLED, IN_FLIGHT = "timed_out", "cancelled", "in_flight"
STATUSES = (COMPLETED, FAILED, CANCELLED, TIMED_OUT, CUT, IN_FLIGHT)


class Outcome(msgspec.Struct, kw_only=True):
    """What became of one request. Times are ns of the run's clock, -1 where it did not come.

    ``event_ns`` holds one time per event with content. ``text`` is kept where asked for, or where
    the server gave no usage and the tokens must be counted from it.
    """

    index: int
    scheduled_ns: int
    sent_ns: int
    connect_ns: int
    done_ns: int
    status: str = COMPLETED
    http_status: int | None = None
    error_kind: str | None = None
    error: str | None = None
    finish_reason: str | None = None
    first_byte_ns: int = -1
    first_token_ns: int = -1
    first_text_ns: int = -1
    first_reasoning_ns: int = -1
    last_token_ns: int = -1
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    event_ns: list[int] = []
    findings: list[str] = []
    text: str = ""


def judge(raw: RawExchange, route: str, *, keep_text: bool = False) -> Outcome:
    """The outcome of one exchange. Never raises on what a server sent."""
    outcome = Outcome(
        index=raw.index,
        scheduled_ns=raw.scheduled_ns,
        sent_ns=raw.sent_ns,
        connect_ns=raw.connect_ns,
        done_ns=raw.done_ns,
    )
    message = read_message(raw)
    outcome.http_status = message.http_status
    for stamp, _ in raw.reads():
        outcome.first_byte_ns = stamp
        break
    if message.http_status is not None and message.http_status < 400:
        _read_body(outcome, message, route)
    _set_status(outcome, raw, message)
    if not keep_text and (outcome.output_tokens is not None or outcome.status == FAILED):
        outcome.text = ""
    return outcome


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
        _take(outcome, stamp, said)
        if said.kinds:
            parts.append(said.text)
    outcome.text = "".join(parts)
    if not terminated and outcome.finish_reason is not None:
        outcome.findings.append("no_done")


def _take(outcome: Outcome, stamp: int, said: Said) -> None:
    """Enter one event."""
    kinds = said.kinds
    if kinds:
        if not outcome.event_ns:
            outcome.event_ns = []
            outcome.first_token_ns = stamp
        outcome.event_ns.append(stamp)
        outcome.last_token_ns = stamp
        if kinds & TEXT and outcome.first_text_ns < 0:
            outcome.first_text_ns = stamp
        if kinds & REASONING and outcome.first_reasoning_ns < 0:
            outcome.first_reasoning_ns = stamp
    if said.finish is not None:
        outcome.finish_reason = said.finish
    if said.usage is not None:
        _take_usage(outcome, said.usage)
    if said.error is not None and outcome.error is None:
        outcome.error_kind, outcome.error = "error_in_200", said.error


def _take_usage(outcome: Outcome, usage: Usage) -> None:
    outcome.input_tokens = usage.input_tokens
    outcome.output_tokens = usage.output_tokens
    if usage.cached_tokens is not None:
        outcome.cached_tokens = usage.cached_tokens


def _read_whole(outcome: Outcome, message: Message, route: str) -> None:
    """An answer without streaming: its only token time is the end."""
    data = b"".join(piece for _, piece in message.pieces)
    said = _whole_response(data) if route == "responses" else read_event(route, data)
    if said is MALFORMED:
        outcome.error_kind, outcome.error = "malformed_json", _shown(data)
        return
    stamp = message.pieces[-1][0] if message.pieces else outcome.done_ns
    _take(outcome, stamp, said)
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
        outcome.error_kind, outcome.error = "stall", "no bytes within the stall timeout"
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
