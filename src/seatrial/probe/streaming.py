"""Does it answer, does it stream, does its usage add up, does closing free the slot?"""

from __future__ import annotations

import time

from seatrial.core.errors import EngineError
from seatrial.engines import http
from seatrial.engines.start import has_content
from seatrial.probe.record import Answer, failed, passed, unknown
from seatrial.probe.subject import SHOWN, Subject, choice_of, content_of, refusal, usage_of

FREED_S = 3.0
"""A cancelled request must stop counting as running within this time."""


def answers(subject: Subject) -> Answer:
    """A whole answer: text, finish_reason, usage."""
    reply = subject.chat("Say hello.", 8)
    text, choice = content_of(reply), choice_of(reply)
    if not reply.ok or not text or choice is None:
        return failed("no text came back", **refusal(reply))
    usage = usage_of(reply)
    if not choice.get("finish_reason"):
        return failed("the answer carries no finish_reason", text=text[:SHOWN])
    return passed(text=text[:SHOWN], finish_reason=choice["finish_reason"], usage=usage)


def streams(subject: Subject) -> Answer:
    """Events as tokens are made, a finish_reason, [DONE]; one number: tokens per event."""
    extra = {"ignore_eos": True} if subject.engine.adapter.ignore_eos else {}
    spoken = subject.speak("Tell a story about the sea.", 32, **extra)
    if not spoken.content_ms:
        return failed("no content came", status=spoken.status, error=spoken.error)
    tokens = (spoken.usage or {}).get("completion_tokens")
    evidence = {
        "events": len(spoken.content_ms),
        "tokens_per_event": tokens / len(spoken.content_ms) if tokens else None,
        "role_only_first_event": spoken.role_first,
        "finish_reason": spoken.finish_reason,
        "done_marker": spoken.done,
        "ttft_ms": round(spoken.content_ms[0], 1),
        "total_ms": round(spoken.total_ms, 1),
        "usage_in_stream": spoken.usage is not None,
    }
    if spoken.malformed:
        return failed(f"{spoken.malformed} event(s) are not JSON", **evidence)
    if spoken.error:
        return failed("an error came inside the stream", error=spoken.error, **evidence)
    if spoken.finish_reason is None:
        return failed("the stream ended without a finish_reason", **evidence)
    span = spoken.content_ms[-1] - spoken.content_ms[0]
    if len(spoken.content_ms) == 1 and (tokens or 0) > 8:
        return failed("all tokens came in one event: it does not stream", **evidence)
    if spoken.total_ms > 200 and span < 0.05 * spoken.total_ms and len(spoken.content_ms) > 8:
        return failed("all events came at the end: something buffers the stream", **evidence)
    return passed(**evidence)


def usage(subject: Subject) -> Answer:
    """completion_tokens is what was made: exactly max_tokens when that cut the answer."""
    extra = {"ignore_eos": True} if subject.engine.adapter.ignore_eos else {}
    reply = subject.chat("Count upwards from one, one number a line.", 12, **extra)
    told, choice = usage_of(reply), choice_of(reply)
    if not reply.ok or choice is None:
        return failed("no answer", **refusal(reply))
    if not told:
        return failed("the answer carries no usage")
    made, finish = told.get("completion_tokens"), choice.get("finish_reason")
    evidence = {"usage": told, "finish_reason": finish}
    if finish == "length" and made != 12:
        return failed(f"12 tokens were made and usage says {made}", **evidence)
    if not told.get("prompt_tokens"):
        return failed("usage tells no prompt_tokens", **evidence)
    if subject.speak("Count to three.", 4).usage is None:
        return failed("a stream that was asked for usage carries none", **evidence)
    return passed(**evidence)


def cancels(subject: Subject) -> Answer:
    """Closing the connection frees the slot: seen in the metric of running requests.

    Without such a metric: a second request must not wait for the rest of the first one, which is
    only telling when the engine has one slot.
    """
    name = subject.engine.adapter.metrics.running
    before = subject.metric(name)
    body = subject.unending()
    tokens, rate = _read_a_little(subject, body)
    if tokens == 0:
        return failed("the request to be cancelled made no token")
    closed = time.monotonic()
    rest_s = (body["max_tokens"] - tokens) / rate
    evidence = {"tokens_before": tokens, "would_have_taken_s": round(rest_s, 2)}
    if rest_s < 0.5:
        return unknown("it was nearly done when it was cancelled", **evidence)
    if before is None:
        spoken = subject.speak("Say hi.", 4)
        waited = (spoken.ttft_ms or 0) / 1e3
        evidence["next_ttft_s"] = round(waited, 3)
        return unknown("no metric of running requests: a freed slot cannot be seen", **evidence)
    limit = min(FREED_S, 0.5 * rest_s)
    while time.monotonic() - closed < limit:
        now = subject.metric(name)
        if now is not None and now <= before:
            return passed(freed_after_s=round(time.monotonic() - closed, 3), **evidence)
        time.sleep(0.02)
    return failed(f"still running {limit:.1f} s after the connection was closed", **evidence)


def _read_a_little(subject: Subject, body: dict[str, object]) -> tuple[int, float]:
    """Read a few tokens, close; returns how many, and tokens per second."""
    count, first = 0, 0
    try:
        with http.stream(
            subject.engine.base_url, subject.engine.adapter.routes.chat, body
        ) as stream:
            for event in stream.events():
                if not has_content(event.json()):
                    continue
                count += 1
                first = first or event.ns
                if count >= 5:
                    span = max(1, event.ns - first) / 1e9
                    return count, (count - 1) / span
    except EngineError:
        return 0, 1.0
    return count, 1e9
