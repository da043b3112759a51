"""Many tenants on one engine: bursts, the cache's real capacity, preemptions, shared prefixes."""

from __future__ import annotations

import threading
import time
from functools import partial
from statistics import median
from typing import Any

from seatrial.engines import http
from seatrial.engines.start import has_content
from seatrial.probe.family.bench import Stand, at_once, forced, rounded, words_for
from seatrial.probe.family.record import FamilyTrial, Value
from seatrial.probe.subject import Spoken, Subject

BURSTS = 3
SHORT, ANSWER = 24, 12
MOST_AT_ONCE = 64


def bursts(stand: Stand, subject: Subject) -> FamilyTrial:
    """Bursts of twice the slots, one prompt in four long: TTFT by length class."""
    slots, limit = _slots(subject), subject.context_tokens or 512
    size = min(MOST_AT_ONCE, 2 * slots)
    long = max(2 * SHORT, limit // 2)
    alone = {
        "short": subject.speak(words_for(subject, SHORT), ANSWER).ttft_ms,
        "long": subject.speak(words_for(subject, long), ANSWER).ttft_ms,
    }
    seen: dict[str, list[float]] = {"short": [], "long": []}
    unanswered = 0
    for _ in range(BURSTS):
        kinds = ["long" if i % 4 == 0 else "short" for i in range(size)]
        calls = [
            partial(subject.speak, words_for(subject, long if k == "long" else SHORT), ANSWER)
            for k in kinds
        ]
        for kind, spoken in zip(kinds, at_once(calls), strict=True):
            if spoken.ttft_ms is None:
                unanswered += 1
            else:
                seen[kind].append(spoken.ttft_ms)
    rows = [_class(kind, alone[kind], seen[kind]) for kind in ("short", "long")]
    worst = max(seen["short"], default=0.0)
    first = alone["short"]
    times = f"{worst / first:.0f} times" if first else "an unknown multiple of"
    return FamilyTrial(
        id="bursts",
        says=f"in bursts of {size} the slowest short request waits {times} its time alone; "
        f"{unanswered} unanswered",
        columns=["class", "n", "TTFT alone, ms", "TTFT P50, ms", "TTFT P95, ms", "most, ms"],
        rows=rows,
    )


def _class(kind: str, alone: float | None, values: list[float]) -> list[Value]:
    ordered = sorted(values)
    at95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))] if ordered else None
    middle = median(ordered) if ordered else None
    most = ordered[-1] if ordered else None
    return [kind, len(values), rounded(alone), rounded(middle), rounded(at95), rounded(most)]


class _Held:
    """Tokens that requests in flight hold in the KV cache, as the client sees them grow."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now: dict[int, int] = {}
        self.most = 0
        self.requests = 0
        self.stop = threading.Event()

    def set(self, number: int, tokens: int | None) -> None:
        with self.lock:
            if tokens is None:
                self.now.pop(number, None)
                return
            self.now[number] = tokens
            total = sum(self.now.values())
            if total > self.most:
                self.most, self.requests = total, len(self.now)


def kv_capacity(stand: Stand, subject: Subject) -> FamilyTrial:
    """Fill it with long requests and see how many tokens it really holds at once.

    Held: prompt and tokens so far of every request between its first and last token. Preemptions
    and the longest queue are the engine's own metrics.
    """
    limit, slots = subject.context_tokens or 512, _slots(subject)
    names = subject.engine.adapter.metrics
    before = subject.metric(names.preemptions)
    prompt = limit // 2
    held = _Held()
    bodies = [
        _long(subject, prompt, limit - prompt - 48) for _ in range(min(MOST_AT_ONCE, slots + 2))
    ]
    threads = [
        threading.Thread(target=_hold, args=(subject, body, held, n, prompt), daemon=True)
        for n, body in enumerate(bodies)
    ]
    for thread in threads:
        thread.start()
    waiting, usage = 0.0, 0.0
    while any(t.is_alive() for t in threads):
        waiting = max(waiting, subject.metric(names.waiting) or 0.0)
        usage = max(usage, subject.metric(names.kv_usage) or 0.0)
        time.sleep(0.2)
    after = subject.metric(names.preemptions)
    told = subject.effective.get("kv_capacity_tokens")
    bound = told if isinstance(told, int) else limit * slots
    source = "told by the engine" if isinstance(told, int) else "context x slots"
    rows: list[list[Value]] = [
        ["computed bound, tokens", bound],
        ["held at most, tokens", held.most],
        ["requests that held them", held.requests],
        ["longest queue", round(waiting) if names.waiting else None],
        ["KV use at most, share", rounded(usage, 3) if names.kv_usage else None],
        [
            "preemptions",
            round(after - before) if after is not None and before is not None else None,
        ],
    ]
    return FamilyTrial(
        id="kv_capacity",
        says=f"{held.most} tokens were held at once by {held.requests} requests of "
        f"{len(bodies)}; the bound is {bound} ({source})",
        columns=["what", "value"],
        rows=rows,
    )


def _long(subject: Subject, prompt: int, output: int) -> dict[str, Any]:
    text = words_for(subject, max(8, prompt - 32))
    return subject.body(text, max(8, output), stream=True, **forced(subject))


def _hold(subject: Subject, body: dict[str, Any], held: _Held, number: int, prompt: int) -> None:
    made = 0
    try:
        with http.stream(
            subject.engine.base_url, subject.engine.adapter.routes.chat, body, timeout_s=300.0
        ) as stream:
            for event in stream.events():
                if has_content(event.json()):
                    made += 1
                    held.set(number, prompt + made)
    finally:
        held.set(number, None)


def prefix_gain(stand: Stand, subject: Subject) -> FamilyTrial:
    """The same burst with one long common beginning and with none: TTFT, and what was reused."""
    limit = subject.context_tokens or 512
    shared = max(64, limit // 2)
    size = min(MOST_AT_ONCE, _slots(subject))
    beginning = words_for(subject, shared)
    subject.speak(f"{beginning} warm", 2)
    common = [partial(subject.speak, f"{beginning} ask {i}", ANSWER) for i in range(size)]
    with_it = at_once(common)
    own = [
        partial(subject.speak, f"{words_for(subject, shared)} ask {i}", ANSWER) for i in range(size)
    ]
    without = at_once(own)
    rows: list[list[Value]] = [
        ["shared", *_reuse(with_it)],
        ["none shared", *_reuse(without)],
    ]
    pair = [_ttft(with_it), _ttft(without)]
    gain = pair[1] / pair[0] if pair[0] and pair[1] else None
    return FamilyTrial(
        id="prefix_gain",
        says=f"with {shared} tokens in common the median TTFT is "
        + (f"{gain:.1f} times shorter" if gain else "not known"),
        columns=["beginning", "n", "TTFT P50, ms", "cached tokens, mean"],
        rows=rows,
    )


def _ttft(spoken: list[Spoken]) -> float | None:
    times = [s.ttft_ms for s in spoken if s.ttft_ms is not None]
    return median(times) if times else None


def _reuse(spoken: list[Spoken]) -> list[Value]:
    from seatrial.probe.subject import cached_of

    cached = [c for s in spoken if (c := cached_of(s.usage)) is not None]
    return [
        len(spoken),
        rounded(_ttft(spoken)),
        rounded(sum(cached) / len(cached)) if cached else None,
    ]


def _slots(subject: Subject) -> int:
    told = subject.effective.get("slots")
    return max(1, subject.requires.concurrency or (told if isinstance(told, int) else 4))
