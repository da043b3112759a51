"""Structured output: a constraint the model would break if it were let alone.

The prompt has nothing to do with the constraint, so an engine that drops it silently (as several
do when their grammar backend is missing) is found out. The control run without it is evidence.
"""

from __future__ import annotations

import json
import re
from typing import Any

from seatrial.probe.record import Answer, failed, passed, unknown
from seatrial.probe.subject import SHOWN, Subject, choice_of, content_of, refusal

PROMPT = "Write two sentences about the sea."
MAX_TOKENS = 72
SCHEMA_TOKENS = 240
"""Room for a model that spends tokens on white space, which JSON allows between any two parts."""
PLANS = ["quartz-93", "xylophone-17"]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "zq7": {"enum": [17, 93]},
        "plan": {"enum": PLANS},
        "marks": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2},
    },
    "required": ["zq7", "plan", "marks"],
    "additionalProperties": False,
}
REGEX = r"zq[0-9]{3}-(red|blue)"
CHOICES = ["quartz-93", "xylophone-17"]
GBNF = 'root ::= "zq" [0-9] [0-9] [0-9] "-" ("red" | "blue")'


def obeys_schema(text: str) -> bool:
    """Is the text exactly one JSON value of ``SCHEMA``?"""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict) or set(value) != {"zq7", "plan", "marks"}:
        return False
    marks = value["marks"]
    return (
        value["zq7"] in (17, 93)
        and value["plan"] in PLANS
        and isinstance(marks, list)
        and len(marks) == 2
        and all(isinstance(m, bool) for m in marks)
    )


def json_schema(subject: Subject) -> Answer:
    """A whole answer under a JSON schema."""
    return _constrained(subject, "json_schema", SCHEMA, obeys_schema, SCHEMA_TOKENS)


def json_schema_stream(subject: Subject) -> Answer:
    """The same, streamed: some engines constrain only one of the two."""
    request = subject.engine.adapter.constraint("json_schema", SCHEMA)
    if request is None:
        return failed("this engine has no way to ask for a JSON schema")
    spoken = subject.speak(PROMPT, SCHEMA_TOKENS, **request)
    if not spoken.text:
        return failed("no content came", status=spoken.status, error=spoken.error)
    if not obeys_schema(spoken.text):
        return failed("the streamed text breaks the schema", text=spoken.text[:SHOWN])
    return passed(text=spoken.text[:SHOWN])


def json_object(subject: Subject) -> Answer:
    """Any JSON object; one that the token limit cuts off counts by its beginning."""

    def is_object(text: str) -> bool:
        try:
            return isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            return re.match(r'\s*\{\s*("|$)', text) is not None

    return _constrained(subject, "json_object", None, is_object)


def regex(subject: Subject) -> Answer:
    """A regular expression."""
    return _constrained(subject, "regex", REGEX, lambda t: re.fullmatch(REGEX, t) is not None)


def grammar(subject: Subject) -> Answer:
    """A grammar in the engine's own notation."""
    return _constrained(subject, "grammar", GBNF, lambda t: re.fullmatch(REGEX, t) is not None)


def choice(subject: Subject) -> Answer:
    """One of several strings."""
    return _constrained(subject, "choice", CHOICES, lambda t: t in CHOICES)


def tools(subject: Subject) -> Answer:
    """A forced tool call with arguments that are JSON of the tool's schema."""
    tool = {
        "type": "function",
        "function": {
            "name": "set_light",
            "description": "Switch the light.",
            "parameters": {
                "type": "object",
                "properties": {"on": {"type": "boolean"}},
                "required": ["on"],
                "additionalProperties": False,
            },
        },
    }
    reply = subject.chat(
        "Switch the light on.",
        MAX_TOKENS,
        tools=[tool],
        tool_choice="required",
        parallel_tool_calls=False,
    )
    if not reply.ok:
        return failed("a request with tools was refused", **refusal(reply))
    message = (choice_of(reply) or {}).get("message") or {}
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], dict):
        return failed("no tool call came back", answer=reply.text()[:SHOWN])
    function = calls[0].get("function") or {}
    try:
        arguments = json.loads(function.get("arguments") or "")
    except (TypeError, ValueError):
        arguments = None
    good = isinstance(arguments, dict) and isinstance(arguments.get("on"), bool)
    if function.get("name") != "set_light" or not good:
        return failed("the call does not fit the tool's schema", call=str(function)[:SHOWN])
    return passed(call=str(function)[:SHOWN])


def _constrained(
    subject: Subject, kind: str, value: Any, obeys: Any, tokens: int = MAX_TOKENS
) -> Answer:
    request = subject.engine.adapter.constraint(kind, value)
    if request is None:
        return failed(f"this engine has no way to ask for {kind}")
    reply = subject.chat(PROMPT, tokens, **request)
    text = content_of(reply)
    if not reply.ok or text is None:
        return failed("a constrained request got no text", **refusal(reply))
    evidence = {"text": text[:SHOWN], "unconstrained_obeys": obeys(subject.free_text(PROMPT))}
    if not obeys(text):
        return failed("the constraint was not kept", **evidence)
    if evidence["unconstrained_obeys"]:
        return unknown("the model obeys without the constraint: it proves nothing", **evidence)
    return passed(**evidence)
