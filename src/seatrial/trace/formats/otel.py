"""OpenTelemetry GenAI spans: OTLP JSON, flat span dumps, names old and new, vLLM's own.

OTLP JSON nests resourceSpans, scopeSpans and spans, with attributes as key-value lists; tools also
dump ``{"spans": [...]}`` with plain attributes. A span counts as a request if it has a model or
token usage. Without usage attributes lengths come from the messages and are estimates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from seatrial.trace.reader import Head, Options, Reader
from seatrial.trace.record import (
    Record,
    at,
    count,
    first,
    later,
    moment,
    prompt_text,
    safely,
    span,
)
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
MODEL = ("gen_ai.response.model", "gen_ai.request.model")
TTFT = ("gen_ai.response.time_to_first_chunk", "gen_ai.latency.time_to_first_token")
SESSION = ("gen_ai.conversation.id", "session.id", "exgentic.session.id")
_VALUES = ("stringValue", "intValue", "doubleValue", "boolValue")
_NOT_REQUESTS = ("execute_tool", "invoke_agent", "create_agent", "embeddings")


def _sniff(head: Head) -> int:
    data = head.data[: 64 << 10]
    if b'"resourceSpans"' in data:
        return 100
    return 95 if b'"spans"' in data and b"gen_ai." in data else 0


def spans(document: Any) -> Iterator[Record]:
    """Every span of a document, attributes flattened to a mapping."""
    if isinstance(document, list):
        for item in document:
            yield from spans(item)
    elif isinstance(document, dict):
        for group in ("resourceSpans", "scopeSpans", "spans"):
            if isinstance(document.get(group), list):
                yield from spans(document[group])
        if "attributes" in document and ("spanId" in document or "span_id" in document):
            yield document


def attributes(one: Record) -> Record:
    """A span's attributes as a mapping, from either form."""
    listed = one.get("attributes")
    if isinstance(listed, dict):
        return listed
    out: Record = {}
    for item in listed if isinstance(listed, list) else ():
        value = item.get("value") if isinstance(item, dict) else None
        if isinstance(value, dict):
            out[str(item.get("key"))] = next((value[k] for k in _VALUES if k in value), value)
    return out


def _add(one: Record, rows: Rows) -> None:
    named = attributes(one)
    if first(named, *MODEL, *INPUT) is None or at(named, "gen_ai.operation.name") in _NOT_REQUESTS:
        return
    start = moment(one, "startTimeUnixNano", unit="ns") or moment(one, "start_time")
    end = moment(one, "endTimeUnixNano", unit="ns") or moment(one, "end_time")
    marks = [name for name, there in (
        ("stream", first(named, "gen_ai.request.stream", "gen_ai.is_streaming") in (True, "true")),
        ("tools", first(named, "gen_ai.tool.definitions") is not None),
        ("schema", at(named, "gen_ai.output.type") == "json"
         or "gen_ai.request.structured_output_schema" in named),
    ) if there]  # fmt: skip
    prompt = prompt_text(first(named, "gen_ai.input.messages", "gen_ai.prompt"))
    answer = prompt_text(
        first(named, "gen_ai.output.messages", "gen_ai.output.text", "gen_ai.completion")
    )
    rows.add(
        arrival_ns=start,
        input_tokens=count(named, *INPUT),
        output_tokens=count(named, *OUTPUT),
        session=first(named, *SESSION),
        ttft_ns=span(named, *TTFT, unit="s"),
        e2e_ns=later(start, end),
        prompt=prompt,
        answer=answer,
        features=marks,
        labels={"model": first(named, *MODEL), "outcome": _outcome(one, named)},
    )


def _outcome(one: Record, named: Record) -> object:
    if at(one, "status.code") in (2, "STATUS_CODE_ERROR", "ERROR"):
        return "failed"
    reasons = first(named, "gen_ai.response.finish_reasons")
    if isinstance(reasons, dict):
        reasons = at(reasons, "arrayValue.values")
        reasons = [at(item, "stringValue") for item in reasons or ()]
    if isinstance(reasons, list) and reasons:
        return reasons[0]
    return reasons if isinstance(reasons, str) else None


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.carries("stream", "tools", "schema")
    data = member.document()
    documents: list[tuple[int, Any]] = []
    try:
        documents = [(1, msgspec.json.decode(data))]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                try:
                    documents.append((number, msgspec.json.decode(line)))
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    rows.bad(number, "not valid JSON")
    for number, document in documents:
        try:
            for one in spans(document):
                safely(number, one, rows, _add)
        except RecursionError:
            rows.bad(number, "nested too deeply")


READER = Reader(
    id="otel",
    title="OpenTelemetry GenAI spans (OTLP JSON or span dumps), vLLM's too",
    tested=True,
    sniff=_sniff,
    read=_read,
)
