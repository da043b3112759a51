"""Sampling: the same twice, seeds, stop sequences, several answers, logprobs."""

from __future__ import annotations

from typing import Any

from seatrial.probe.record import Answer, failed, passed, unknown
from seatrial.probe.subject import SHOWN, Subject, choice_of, content_of, refusal

STORY = "Tell a story about a lighthouse keeper and a storm."


def greedy_repeats(subject: Subject) -> Answer:
    """Temperature 0, one request at a time, twice: the same text.

    That it differs is no fault by itself (kernels may sum in another order); it is told.
    """
    texts = [content_of(subject.chat(STORY, 16)) for _ in range(2)]
    if None in texts:
        return failed("no text came back")
    if texts[0] != texts[1]:
        return failed("greedy answers differ", first=texts[0], second=texts[1])
    return passed(text=(texts[0] or "")[:SHOWN])


def seeds(subject: Subject) -> Answer:
    """At temperature 1: the same seed gives the same text, another seed another one."""
    extra: dict[str, Any] = {"temperature": 1.0, "top_p": 1.0}
    replies = [subject.chat(STORY, 12, seed=s, **extra) for s in (7, 7, 8, 9)]
    texts = [content_of(r) for r in replies]
    if None in texts:
        bad = next(r for r, t in zip(replies, texts, strict=True) if t is None)
        return failed("a request with a seed got no text", **refusal(bad))
    evidence = {"same_seed_equal": texts[0] == texts[1], "distinct": len(set(texts))}
    if texts[0] != texts[1]:
        return failed("the same seed gave two texts", **evidence)
    if len(set(texts)) == 1:
        return failed(
            "three seeds gave one text: the seed or the temperature is ignored", **evidence
        )
    return passed(**evidence)


def stop_sequences(subject: Subject) -> Answer:
    """Generation ends before the stop text, which is taken from what it would have said."""
    free = content_of(subject.chat(STORY, 28))
    if not free or len(free.split()) < 6:
        return unknown("the free answer is too short to take a stop text from", text=free)
    words = free.split()
    stop = " ".join(words[len(words) // 2 : len(words) // 2 + 2])
    if stop not in free:
        stop = words[len(words) // 2]
    reply = subject.chat(STORY, 28, stop=[stop])
    text, choice = content_of(reply), choice_of(reply)
    if not reply.ok or text is None or choice is None:
        return failed("a request with stop was refused", **refusal(reply))
    evidence = {"stop": stop, "text": text[:SHOWN], "finish_reason": choice.get("finish_reason")}
    if stop in text:
        return failed("the text runs past the stop sequence", **evidence)
    if choice.get("finish_reason") != "stop":
        return failed("the stop was not the reason to finish", **evidence)
    return passed(**evidence)


def several(subject: Subject) -> Answer:
    """``n: 2``: two answers."""
    reply = subject.chat(STORY, 6, n=2, temperature=1.0, seed=3)
    answer = reply.json()
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not reply.ok or not isinstance(choices, list):
        return failed("n = 2 was refused", **refusal(reply))
    if len(choices) != 2:
        return failed(f"n = 2 gave {len(choices)} answer(s)")
    return passed(choices=2)


def logprobs(subject: Subject) -> Answer:
    """A log probability per token, none above 0, and three alternatives each."""
    reply = subject.chat(STORY, 6, logprobs=True, top_logprobs=3)
    choice = choice_of(reply)
    if not reply.ok or choice is None:
        return failed("a request with logprobs was refused", **refusal(reply))
    content = (choice.get("logprobs") or {}).get("content")
    if not isinstance(content, list) or not content:
        return failed("the answer carries no logprobs")
    told = [c.get("logprob") for c in content if isinstance(c, dict)]
    values = [float(v) for v in told if isinstance(v, int | float)]
    if len(values) != len(content):
        return failed("logprobs are not numbers", first=str(content[0])[:SHOWN])
    if max(values) > 1e-6:
        return failed("a log probability is above 0", highest=max(values))
    tops = min(len(c.get("top_logprobs") or []) for c in content)
    if tops < 3:
        return failed(f"{tops} alternatives instead of 3", tokens=len(content))
    return passed(tokens=len(content), alternatives=tops)
