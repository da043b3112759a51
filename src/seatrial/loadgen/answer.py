"""What one event says: text, reasoning, tool call, finish_reason, usage, error.

One decoder per route, typed, so that fields nobody asks for cost nothing. An event that is valid
JSON of another shape than expected carries nothing; one that is not JSON is malformed.
"""

from __future__ import annotations

from typing import Any

import msgspec

TEXT, REASONING, TOOL = 1, 2, 4


class Said(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One event's content. ``kinds`` is a bit set of TEXT, REASONING, TOOL; 0: no content."""

    kinds: int
    text: str
    finish: str | None
    usage: Usage | None
    error: str | None


class Usage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Token counts as the server gives them; None where it does not."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None


NOTHING = Said(0, "", None, None, None)
MALFORMED = Said(0, "", None, None, "malformed JSON")


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    text: str | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: msgspec.Raw | None = None


class _Reason(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    status: str | None = None
    usage: _Usage | None = None
    incomplete_details: _Reason | None = None
    error: msgspec.Raw | None = None


class _ResponseEvent(msgspec.Struct):
    type: str = ""
    delta: str | msgspec.Raw | None = None
    response: _Response | None = None
    message: str | None = None


class _OllamaMessage(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[Any] | None = None


class _OllamaLine(msgspec.Struct):
    message: _OllamaMessage | None = None
    response: str | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: str | None = None


_chunk = msgspec.json.Decoder(_Chunk)
_response = msgspec.json.Decoder(_ResponseEvent)
_ollama = msgspec.json.Decoder(_OllamaLine)


def read_event(route: str, data: bytes) -> Said:
    """What one event of a route says. ``MALFORMED`` if it is not JSON."""
    try:
        if route == "responses":
            return _read_response(_response.decode(data))
        if route == "ollama":
            return _read_ollama(_ollama.decode(data))
        return _read_chunk(_chunk.decode(data))
    except msgspec.ValidationError:
        return _read_odd(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return MALFORMED


def _read_chunk(chunk: _Chunk) -> Said:
    error = _error_text(chunk.error)
    usage = None if chunk.usage is None else _usage(chunk.usage)
    if not chunk.choices:
        return Said(0, "", None, usage, error)
    choice = chunk.choices[0]
    delta = choice.delta or choice.message
    if delta is None:
        text = choice.text or ""
        return Said(TEXT if text else 0, text, choice.finish_reason, usage, error)
    text = delta.content or ""
    kinds = TEXT if text else 0
    reasoning = delta.reasoning_content or delta.reasoning
    if reasoning:
        kinds |= REASONING
        text += reasoning
    if delta.tool_calls:
        called = _called(delta.tool_calls)
        if called:
            kinds |= TOOL
            text += called
    return Said(kinds, text, choice.finish_reason, usage, error)


def _called(calls: list[_ToolCall]) -> str:
    parts = [c.function for c in calls if c.function is not None]
    return "".join((f.name or "") + (f.arguments or "") for f in parts)


def _usage(usage: _Usage) -> Usage:
    details = usage.prompt_tokens_details or usage.input_tokens_details
    given = usage.prompt_tokens if usage.prompt_tokens is not None else usage.input_tokens
    made = usage.completion_tokens if usage.completion_tokens is not None else usage.output_tokens
    return Usage(given, made, None if details is None else details.cached_tokens)


def _error_text(error: msgspec.Raw | None) -> str | None:
    if error is None or bytes(error) in (b"null", b"{}", b'""', b"false"):
        return None
    return bytes(error)[:500].decode("utf-8", "replace")


_DELTA_KINDS = {
    "response.output_text.delta": TEXT,
    "response.refusal.delta": TEXT,
    "response.reasoning_text.delta": REASONING,
    "response.reasoning.delta": REASONING,
    "response.reasoning_summary_text.delta": REASONING,
    "response.function_call_arguments.delta": TOOL,
}
_FINISHES = {"response.completed": "stop", "response.incomplete": "length"}


def _read_response(event: _ResponseEvent) -> Said:
    if isinstance(event.delta, str) and event.delta:
        return Said(_DELTA_KINDS.get(event.type, 0), event.delta, None, None, None)
    if event.type in ("error", "response.failed"):
        inner = None if event.response is None else _error_text(event.response.error)
        return Said(0, "", None, None, event.message or inner or event.type)
    if event.type in _FINISHES and event.response is not None:
        usage = event.response.usage
        found = None if usage is None else _usage(usage)
        return Said(0, "", _FINISHES[event.type], found, None)
    return NOTHING


def _read_ollama(line: _OllamaLine) -> Said:
    message = line.message or _OllamaMessage()
    text = message.content or line.response or ""
    kinds = TEXT if text else 0
    if message.thinking:
        kinds |= REASONING
        text += message.thinking
    if message.tool_calls:
        kinds |= TOOL
    usage = None
    if line.eval_count is not None or line.prompt_eval_count is not None:
        usage = Usage(line.prompt_eval_count, line.eval_count, None)
    finish = (line.done_reason or "stop") if line.done else None
    return Said(kinds, text, finish, usage, line.error)


def _read_odd(data: bytes) -> Said:
    """JSON of another shape: an error or a bare usage may still be found in it."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return MALFORMED
    if not isinstance(value, dict):
        return NOTHING
    error = value.get("error")
    if error:
        return Said(0, "", None, None, str(error)[:500])
    return _odd_choice(value)


def _odd_choice(value: dict[str, Any]) -> Said:
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return NOTHING
    delta = choice.get("delta") or choice.get("message")
    content = delta.get("content") if isinstance(delta, dict) else choice.get("text")
    text = ""
    if isinstance(content, str):
        text = content
    elif isinstance(content, list):
        text = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    finish = choice.get("finish_reason")
    return Said(TEXT if text else 0, text, finish if isinstance(finish, str) else None, None, None)
