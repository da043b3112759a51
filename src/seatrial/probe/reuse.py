"""The prefix cache: told, counted, and felt in TTFT."""

from __future__ import annotations

from statistics import median

from seatrial.core.errors import EngineError
from seatrial.probe.record import Answer, failed, passed, unknown
from seatrial.probe.subject import Subject, cached_of

WORDS = 168
ROUNDS = 2
FASTER = 0.7
"""A warm TTFT under this share of the cold one is felt."""


def prefix_cache(subject: Subject) -> Answer:
    """A long prompt, sent again: are its tokens reused, by usage, by metric, by TTFT?"""
    words = WORDS
    if subject.context_tokens:
        words = min(WORDS, max(32, subject.context_tokens // 2))
    cold, warm, cached = [], [], []
    metric = subject.engine.adapter.metrics.prefix_hits
    hits_before = subject.metric(metric)
    for _ in range(ROUNDS):
        prompt = f"{subject.nonce()} " + "the tide comes and goes again " * (words // 6)
        first = subject.speak(prompt, 4)
        second = subject.speak(prompt, 4)
        if first.ttft_ms is None or second.ttft_ms is None:
            return failed("no content came", error=first.error or second.error)
        cold.append(first.ttft_ms)
        warm.append(second.ttft_ms)
        cached.append(cached_of(second.usage))
    hits_after = subject.metric(metric)
    counted = None if hits_before is None or hits_after is None else hits_after - hits_before
    ratio = median(warm) / median(cold)
    evidence = {
        "cold_ttft_ms": round(median(cold), 1),
        "warm_ttft_ms": round(median(warm), 1),
        "ratio": round(ratio, 3),
        "cached_tokens": cached,
        "counted_by_metric": counted,
    }
    told = any(c for c in cached) or bool(counted)
    if told and ratio < FASTER:
        return passed(**evidence)
    if told:
        return passed(note="reuse is reported and hardly felt at this length", **evidence)
    if ratio < FASTER:
        return passed(note="reuse is felt and not reported", **evidence)
    if all(c is None for c in cached) and counted is None:
        return unknown("not reported, and no effect on TTFT at this length", **evidence)
    return failed("the second time nothing was reused", **evidence)


def cached_usage(subject: Subject) -> Answer:
    """Does usage tell cached tokens at all?"""
    subject.speak("Say hello.", 2)
    cached = cached_of(subject.speak("Say hello.", 2).usage)
    if cached is None:
        return failed("usage has no prompt_tokens_details.cached_tokens")
    return passed(cached_tokens=cached)


def metrics_present(subject: Subject) -> Answer:
    """The metrics this engine is known by are there."""
    from seatrial.telemetry import names

    adapter = subject.engine.adapter
    if adapter.routes.metrics is None:
        return failed(f"{adapter.title} has no metrics route")
    try:
        found = names(subject.engine.metrics_text())
    except EngineError as error:
        return failed(error.what)
    wanted = {
        field: name
        for field in adapter.metrics.__struct_fields__
        if (name := getattr(adapter.metrics, field))
    }
    missing = {f: n for f, n in wanted.items() if n not in found}
    evidence = {"metrics": len(found), "missing": missing}
    if not found:
        return failed("the metrics route answers without metrics", **evidence)
    if missing:
        return failed(f"metrics missing: {', '.join(missing.values())}", **evidence)
    return passed(**evidence)
