"""The engine under question, with the few ways in which probes talk to it."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from seatrial.core.errors import EngineError
from seatrial.engines import RunningEngine, http
from seatrial.telemetry import total
from seatrial.workload.spec import Requires

TIMEOUT_S = 90.0
SHOWN = 300
"""Longest text of an engine that goes into evidence."""


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """A streamed answer as it came. Times are ms since the request was sent.

    ``malformed`` counts events that are not JSON objects.
    """

    status: int
    text: str
    role_first: bool
    content_ms: list[float]
    total_ms: float
    finish_reason: str | None
    usage: dict[str, Any] | None
    done: bool
    malformed: int = 0
    error: str = ""

    @property
    def ttft_ms(self) -> float | None:
        """To the first event with content."""
        return self.content_ms[0] if self.content_ms else None


class Subject:
    """A running engine, what is required of it, and what it says of itself."""

    def __init__(self, engine: RunningEngine, requires: Requires, seed: int = 1) -> None:
        self.engine = engine
        self.requires = requires
        self.seed = seed
        self.effective = engine.effective()
        self._serial = 0
        self._free: dict[str, str] = {}

    @property
    def context_tokens(self) -> int | None:
        """Longest prompt + answer, as the engine says, else as required."""
        told = self.effective.get("context_tokens")
        return told if isinstance(told, int) else self.requires.context_tokens

    def nonce(self) -> str:
        """Words no earlier prompt of this run began with: nothing of it is cached."""
        self._serial += 1
        return f"note {self.seed * 1000 + self._serial} {time.monotonic_ns() % 10**9}"

    def body(self, content: Any, max_tokens: int, **extra: Any) -> dict[str, Any]:
        """A greedy chat request; ``extra`` fields win."""
        messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
        return {
            "model": self.engine.model,
            "messages": messages,
            "max_tokens": max_tokens,
            "temperature": 0,
            **extra,
        }

    def chat(self, content: Any, max_tokens: int = 16, **extra: Any) -> http.Reply:
        """One whole answer."""
        route = self.engine.adapter.routes.chat
        body = self.body(content, max_tokens, **extra)
        return http.post(self.engine.base_url, route, body, timeout_s=TIMEOUT_S)

    def free_text(self, prompt: str) -> str:
        """What the model says when nothing constrains it; asked once a prompt."""
        if prompt not in self._free:
            self._free[prompt] = content_of(self.chat(prompt, 32)) or ""
        return self._free[prompt]

    def speak(self, content: Any, max_tokens: int = 16, **extra: Any) -> Spoken:
        """One streamed answer, read to its end."""
        body = self.body(content, max_tokens, stream=True, **extra)
        body.setdefault("stream_options", {"include_usage": True})
        began = time.monotonic_ns()
        try:
            with http.stream(
                self.engine.base_url, self.engine.adapter.routes.chat, body, timeout_s=TIMEOUT_S
            ) as stream:
                return _listen(stream, began)
        except EngineError as error:
            return _silence(error.what)

    def unending(self, extra_tokens: int = 400) -> dict[str, Any]:
        """A streamed request that goes on until somebody stops it (or its tokens are out)."""
        limit = self.context_tokens
        tokens = min(extra_tokens, max(32, limit // 2)) if limit else extra_tokens
        body = self.body(f"{self.nonce()}: count upwards, one number a line", tokens, stream=True)
        if self.engine.adapter.ignore_eos:
            body["ignore_eos"] = True
        return body

    def metric(self, name: str | None) -> float | None:
        """The present value of a metric by its source name; None if there is none."""
        if name is None or self.engine.adapter.routes.metrics is None:
            return None
        try:
            return total(self.engine.metrics_text(), name)
        except EngineError:
            return None


def content_of(reply: http.Reply) -> str | None:
    """Text of the first choice of a whole answer; None when there is none."""
    choice = choice_of(reply)
    message = choice.get("message") if choice else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else None


def choice_of(reply: http.Reply) -> dict[str, Any] | None:
    """The first choice of a whole answer."""
    answer = reply.json()
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return None


def usage_of(reply: http.Reply) -> dict[str, Any]:
    """The usage of a whole answer; {} when there is none."""
    answer = reply.json()
    usage = answer.get("usage") if isinstance(answer, dict) else None
    return usage if isinstance(usage, dict) else {}


def cached_of(usage: dict[str, Any] | None) -> int | None:
    """``prompt_tokens_details.cached_tokens``, None when the engine does not tell."""
    details = (usage or {}).get("prompt_tokens_details")
    value = details.get("cached_tokens") if isinstance(details, dict) else None
    return value if isinstance(value, int) else None


def refusal(reply: http.Reply) -> dict[str, Any]:
    """Status and the first words of an answer that is an error: evidence."""
    return {"status": reply.status, "answer": (reply.error or reply.text())[:SHOWN]}


def _listen(stream: http.Stream, began: int) -> Spoken:
    times: list[float] = []
    text: list[str] = []
    role_first, finish, usage, error, malformed = False, None, None, "", 0
    if stream.status >= 400:
        return _silence(stream.body(4096).decode("utf-8", errors="replace"), stream.status)
    for number, event in enumerate(stream.events()):
        chunk = event.json()
        if not isinstance(chunk, dict):
            malformed += 1
            continue
        if "error" in chunk:
            error = event.data[:SHOWN].decode("utf-8", errors="replace")
            continue
        usage = chunk.get("usage") or usage
        for choice in (chunk.get("choices") or [])[:1]:
            delta = choice.get("delta") or {}
            said = delta.get("content") or delta.get("reasoning_content") or ""
            called = delta.get("tool_calls")
            finish = choice.get("finish_reason") or finish
            if said or called:
                times.append((event.ns - began) / 1e6)
                text.append(said if isinstance(said, str) else "")
            elif number == 0 and delta.get("role"):
                role_first = True
    return Spoken(
        status=stream.status,
        text="".join(text),
        role_first=role_first,
        content_ms=times,
        total_ms=(time.monotonic_ns() - began) / 1e6,
        finish_reason=finish,
        usage=usage,
        done=stream.done,
        malformed=malformed,
        error=error or stream.error,
    )


def _silence(error: str, status: int = 0) -> Spoken:
    return Spoken(
        status=status,
        text="",
        role_first=False,
        content_ms=[],
        total_ms=0.0,
        finish_reason=None,
        usage=None,
        done=False,
        error=error[:SHOWN],
    )
