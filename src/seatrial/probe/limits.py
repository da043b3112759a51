"""Where it ends: the context, requests at once, and input that is none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from seatrial.core.errors import EngineError
from seatrial.engines import http
from seatrial.probe.record import Answer, failed, passed, unknown
from seatrial.probe.subject import Subject, content_of, refusal, usage_of

LONGEST_TRIED = 2048
"""A context up to this length is filled for real; a longer one is only overstepped."""
WORD = " sea"
OUTPUT = 8
AT_ONCE_MAX = 256


def context_limit(subject: Subject) -> Answer:
    """Takes the context it names, and refuses one token more instead of cutting it silently."""
    limit = subject.context_tokens
    if limit is None:
        return unknown("the engine does not tell its context, and none is required")
    wanted = subject.requires.context_tokens
    if wanted is not None and limit < wanted:
        return failed(f"its context is {limit} tokens and {wanted} are required", context=limit)
    evidence: dict[str, Any] = {"context": limit}
    if limit <= LONGEST_TRIED:
        inside = _complete(subject, limit - OUTPUT - 16)
        evidence["inside"] = {"status": inside.status, "usage": usage_of(inside)}
        if not inside.ok:
            return failed("a prompt that fits was refused", **evidence, **refusal(inside))
        if usage_of(inside).get("prompt_tokens", 0) < limit - OUTPUT - 40:
            return failed("a prompt that fits was cut silently", **evidence)
    above = _complete(subject, limit + 1)
    evidence["above"] = refusal(above)
    if above.ok:
        told = usage_of(above).get("prompt_tokens")
        return failed(f"a prompt above the limit was answered (counted as {told})", **evidence)
    if above.status == 0 or above.status >= 500:
        return failed("a prompt above the limit is an error of the server", **evidence)
    return passed(**evidence)


def _complete(subject: Subject, tokens: int) -> http.Reply:
    """A raw completion whose prompt is ``tokens`` long by the engine's own tokenizer."""
    text = WORD * tokens
    try:
        measured = len(subject.engine.tokenize(WORD * 64)) / 64
        text = WORD * round(tokens / measured)
    except EngineError:
        pass  # one token a word is then the assumption
    route = subject.engine.adapter.routes.completions
    body = {"model": subject.engine.model, "prompt": text, "max_tokens": OUTPUT, "temperature": 0}
    if route is None:
        return subject.chat(text, OUTPUT)
    return http.post(subject.engine.base_url, route, body, timeout_s=300.0)


def concurrency(subject: Subject) -> Answer:
    """The required number of requests at once, all answered."""
    told = subject.effective.get("slots")
    slots = told if isinstance(told, int) else 4
    wanted = min(AT_ONCE_MAX, subject.requires.concurrency or min(8, 2 * slots))
    with ThreadPoolExecutor(wanted) as pool:
        replies = list(
            pool.map(lambda i: subject.chat(f"Number {i}: say hello.", 8), range(wanted))
        )
    bad = [r for r in replies if not r.ok or not content_of(r)]
    evidence = {"at_once": wanted, "answered": wanted - len(bad), "slots": slots}
    if bad:
        return failed(f"{len(bad)} of {wanted} were not answered", **evidence, **refusal(bad[0]))
    return passed(**evidence)


def odd_input(subject: Subject) -> Answer:
    """Empty, broken, deep, wrong: refused with a status, and the engine goes on."""
    chat = subject.engine.adapter.routes.chat
    good = subject.body("Say hi.", 2)
    deep = b'{"model":"m","messages":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
    cases: dict[str, Any] = {
        "empty body": b"",
        "not JSON": b"{",
        "invalid UTF-8": b'{"messages":[{"role":"user","content":"\xff\xfe"}]}',
        "deep JSON": deep,
        "no messages": {**good, "messages": []},
        "wrong types": {**good, "messages": "hello", "max_tokens": "many"},
        "unknown role": {**good, "messages": [{"role": 7, "content": None}]},
        "negative max_tokens": {**good, "max_tokens": -5},
        "empty content": {**good, "messages": [{"role": "user", "content": ""}]},
        "NUL in content": {**good, "messages": [{"role": "user", "content": "a\x00b"}]},
    }
    statuses: dict[str, int] = {}
    for name, body in cases.items():
        if isinstance(body, dict) and name == "negative max_tokens":
            # some engines read a negative number as "without end": 16 events are enough
            statuses[name] = _few(subject, {**body, "stream": True})
        else:
            statuses[name] = http.post(subject.engine.base_url, chat, body, timeout_s=30.0).status
        if not subject.engine.alive():
            return failed(f"it died of: {name}", statuses=statuses)
    after = subject.chat("Say hi.", 4)
    broken = [n for n in ("empty body", "not JSON") if 0 < statuses[n] < 400]
    if not after.ok:
        return failed("it does not answer any more", statuses=statuses)
    if broken:
        return failed(f"accepted without complaint: {', '.join(broken)}", statuses=statuses)
    odd = [n for n, s in statuses.items() if s >= 500 or s == 0]
    lenient = [n for n, s in statuses.items() if 0 < s < 400]
    return passed(statuses=statuses, errors_of_the_server=odd, answered=lenient)


def _few(subject: Subject, body: dict[str, Any]) -> int:
    try:
        with http.stream(subject.engine.base_url, subject.engine.adapter.routes.chat, body) as s:
            for number, _ in enumerate(s.events()):
                if number >= 16:
                    break
            return s.status
    except EngineError:
        return 0
