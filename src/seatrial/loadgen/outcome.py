"""What became of one request, and how events are entered into it."""

from __future__ import annotations

from array import array

import msgspec

from seatrial.loadgen.answer import REASONING, TEXT, Said, Usage

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


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """An outcome on its way to another process: ``events`` are its ``event_ns``, int64 in bytes."""

    outcome: Outcome
    events: bytes


def pack(outcome: Outcome) -> Packed:
    """Put the event times beside, as bytes: a list of integers is slow to write and to read."""
    events = array("q", outcome.event_ns).tobytes()
    outcome.event_ns = []
    return Packed(outcome, events)


MOST_TOKENS = 1 << 40
"""More tokens than one request can have."""


def take(outcome: Outcome, stamp: int, said: Said) -> None:
    """Enter one event."""
    if said.kinds:
        outcome.event_ns.append(stamp)
        mark_first(outcome, stamp, said.kinds)
        outcome.last_token_ns = stamp
    if said.finish is not None:
        outcome.finish_reason = said.finish
    if said.usage is not None:
        take_usage(outcome, said.usage)
    if said.error is not None and outcome.error is None:
        outcome.error_kind, outcome.error = "error_in_200", said.error


def mark_first(outcome: Outcome, stamp: int, kinds: int) -> None:
    """First token, first text, first reasoning: whichever this is."""
    if outcome.first_token_ns < 0:
        outcome.first_token_ns = stamp
    if kinds & TEXT and outcome.first_text_ns < 0:
        outcome.first_text_ns = stamp
    if kinds & REASONING and outcome.first_reasoning_ns < 0:
        outcome.first_reasoning_ns = stamp


def take_usage(outcome: Outcome, usage: Usage) -> None:
    """Enter the server's token counts; one that can be none is left out and named."""
    outcome.input_tokens = _count(outcome, usage.input_tokens)
    outcome.output_tokens = _count(outcome, usage.output_tokens)
    if usage.cached_tokens is not None:
        outcome.cached_tokens = _count(outcome, usage.cached_tokens)


def _count(outcome: Outcome, value: int | None) -> int | None:
    if value is None or 0 <= value <= MOST_TOKENS:
        return value
    if "wrong_usage" not in outcome.findings:
        outcome.findings.append("wrong_usage")
    return None
