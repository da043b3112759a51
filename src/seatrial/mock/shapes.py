"""The forms in which an answer goes over the wire: one class per route.

Each yields bytes: what comes before the first token, one token's event, the end with its
finish_reason, usage, and the terminator. ``whole`` is the answer of a request without streaming.
"""

from __future__ import annotations

import json
from typing import Any

from seatrial.mock.dialect import Dialect


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class Usage:
    """Token counts of one answer, in the two spellings of the API."""

    def __init__(self, prompt: int, completion: int, cached: int | None) -> None:
        self.prompt = prompt
        self.completion = completion
        self.cached = cached

    def openai(self) -> dict[str, Any]:
        """As chat and completions report it."""
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
        }
        if self.cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": self.cached}
        return usage

    def responses(self) -> dict[str, Any]:
        """As the responses route reports it."""
        return {
            "input_tokens": self.prompt,
            "input_tokens_details": {"cached_tokens": self.cached or 0},
            "output_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
        }


class ChatShape:
    """``/v1/chat/completions``."""

    content_type = "text/event-stream; charset=utf-8"
    kind = "chat.completion.chunk"

    def __init__(self, request_id: str, model: str, dialect: Dialect) -> None:
        self.id = request_id
        self.model = model
        self.dialect = dialect
        end = dialect.line_end
        self._end = (end + end).encode()
        head = {"id": request_id, "object": self.kind, "created": 1, "model": model}
        self._head = "data: " + _compact(head)[:-1] + ","
        self._text = (self._head + self._before_text("content")).encode()
        reasoning = dialect.reasoning_field or "content"
        self._reasoning = (self._head + self._before_text(reasoning)).encode()
        self._tail = self._after_text().encode() + self._end

    def _before_text(self, name: str) -> str:
        return f'"choices":[{{"index":0,"delta":{{"{name}":"'

    def _after_text(self) -> str:
        return '"},"logprobs":null,"finish_reason":null}]}'

    def _event(self, rest: str) -> bytes:
        return (self._head + rest).encode() + self._end

    def opening(self) -> bytes:
        """The role-only delta, where the dialect sends one."""
        if not self.dialect.role_first:
            return b""
        delta = '{"role":"assistant","content":""}'
        return self._event(f'"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}')

    def token(self, text: str, *, reasoning: bool) -> bytes:
        """One event with one or several tokens of text."""
        return (self._reasoning if reasoning else self._text) + text.encode() + self._tail

    def final(self, finish: str) -> bytes:
        """The event that carries the finish_reason."""
        return self._event(f'"choices":[{{"index":0,"delta":{{}},"finish_reason":"{finish}"}}]}}')

    def usage(self, usage: Usage) -> bytes:
        """The event that carries usage and no choice."""
        return self._event(f'"choices":[],"usage":{_compact(usage.openai())}}}')

    def done(self) -> bytes:
        """The terminator."""
        return b"data: [DONE]" + self._end

    def error(self, message: str) -> bytes:
        """An error object where an event should be."""
        body = {"error": {"message": message, "type": "server_error", "code": 500}}
        return b"data: " + _compact(body).encode() + self._end

    def whole(self, text: str, finish: str, usage: Usage) -> bytes:
        """The answer without streaming."""
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return self._whole("chat.completion", choice, usage)

    def _whole(self, kind: str, choice: dict[str, Any], usage: Usage) -> bytes:
        body = {"id": self.id, "object": kind, "created": 1, "model": self.model}
        return _compact({**body, "choices": [choice], "usage": usage.openai()}).encode()


class CompletionShape(ChatShape):
    """``/v1/completions``."""

    kind = "text_completion"

    def _before_text(self, name: str) -> str:
        return '"choices":[{"index":0,"text":"'

    def _after_text(self) -> str:
        return '","logprobs":null,"finish_reason":null}]}'

    def opening(self) -> bytes:
        """Completions have no role."""
        return b""

    def final(self, finish: str) -> bytes:
        """An empty text with the finish_reason."""
        return self._event(f'"choices":[{{"index":0,"text":"","finish_reason":"{finish}"}}]}}')

    def whole(self, text: str, finish: str, usage: Usage) -> bytes:
        """The answer without streaming."""
        choice = {"index": 0, "text": text, "finish_reason": finish}
        return self._whole("text_completion", choice, usage)


class ResponsesShape(ChatShape):
    """``/v1/responses``: named events, usage in the last one."""

    def __init__(self, request_id: str, model: str, dialect: Dialect) -> None:
        super().__init__(request_id, model, dialect)
        self._closing = ("completed", "")
        line = dialect.line_end
        self._text = self._named("response.output_text.delta", line)
        self._reasoning = self._named("response.reasoning_text.delta", line)
        self._tail = b'"}' + self._end

    def _named(self, kind: str, line: str) -> bytes:
        return f'event: {kind}{line}data: {{"type":"{kind}","item_id":"m","delta":"'.encode()

    def _whole_event(self, kind: str, body: dict[str, Any]) -> bytes:
        line = self.dialect.line_end
        return f"event: {kind}{line}data: {_compact({'type': kind, **body})}".encode() + self._end

    def opening(self) -> bytes:
        """``response.created``: no content in it."""
        response = {"id": self.id, "object": "response", "status": "in_progress"}
        return self._whole_event("response.created", {"response": response})

    def final(self, finish: str) -> bytes:
        """Kept back: the status travels with usage."""
        cut = finish == "length"
        self._closing = ("incomplete", "max_output_tokens") if cut else ("completed", "")
        return b""

    def usage(self, usage: Usage) -> bytes:
        """``response.completed`` or ``response.incomplete`` with usage."""
        status, reason = self._closing
        details = {"reason": reason} if reason else None
        response = {"id": self.id, "status": status, "incomplete_details": details}
        response["usage"] = usage.responses()
        return self._whole_event(f"response.{status}", {"response": response})

    def done(self) -> bytes:
        """The responses route has no [DONE]."""
        return b""

    def whole(self, text: str, finish: str, usage: Usage) -> bytes:
        """The answer without streaming."""
        part = {"type": "output_text", "text": text}
        output = [{"type": "message", "role": "assistant", "content": [part]}]
        status = "incomplete" if finish == "length" else "completed"
        body = {"id": self.id, "object": "response", "status": status, "output": output}
        return _compact({**body, "usage": usage.responses()}).encode()


class OllamaShape(ChatShape):
    """``/api/chat``: one JSON object a line."""

    content_type = "application/x-ndjson"

    def __init__(self, request_id: str, model: str, dialect: Dialect) -> None:
        super().__init__(request_id, model, dialect)
        self._finish = "stop"
        head = {"model": model, "created_at": "2026-01-01T00:00:00Z"}
        self._base = head
        start = _compact(head)[:-1] + ',"message":{"role":"assistant","'
        self._text = (start + 'content":"').encode()
        self._reasoning = (start + 'content":"","thinking":"').encode()
        self._tail = b'"},"done":false}\n'

    def opening(self) -> bytes:
        """Nothing comes before the first token."""
        return b""

    def final(self, finish: str) -> bytes:
        """Kept back: the reason travels with the counts."""
        self._finish = finish
        return b""

    def usage(self, usage: Usage) -> bytes:
        """The last line: done, reason and counts."""
        counts = {"prompt_eval_count": usage.prompt, "eval_count": usage.completion}
        message = {"role": "assistant", "content": ""}
        body = {**self._base, "message": message, "done": True, "done_reason": self._finish}
        return _compact({**body, **counts}).encode() + b"\n"

    def done(self) -> bytes:
        """Lines need no terminator."""
        return b""

    def error(self, message: str) -> bytes:
        """Ollama's error line."""
        return _compact({"error": message}).encode() + b"\n"

    def whole(self, text: str, finish: str, usage: Usage) -> bytes:
        """The answer without streaming."""
        self._finish = finish
        return self.usage(usage).replace(b'"content":""', b'"content":"' + text.encode() + b'"')


SHAPES: dict[str, type[ChatShape]] = {
    "/v1/chat/completions": ChatShape,
    "/v1/completions": CompletionShape,
    "/v1/responses": ResponsesShape,
    "/api/chat": OllamaShape,
}


def without_usage(body: bytes) -> bytes:
    """A whole answer with its token counts taken out, as some proxies send it."""
    value = json.loads(body)
    kept = {k: v for k, v in value.items() if k not in _COUNTS}
    return _compact(kept).encode()


_COUNTS = ("usage", "prompt_eval_count", "eval_count")
