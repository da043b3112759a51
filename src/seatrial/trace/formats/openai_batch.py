"""OpenAI batch files: requests (input) and their answers (output), no times at all.

Input rows have ``custom_id``, ``method``, ``url``, ``body``; output rows ``custom_id``,
``response`` with usage, ``error``. Given both, as two files, each is read on its own: lengths and
prefixes of the input are estimates, those of the output are counts. Offline work by nature.
"""

from __future__ import annotations

from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, at, count, first, prompt_text, safely
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member


def _sniff(head: Head) -> int:
    if "custom_id" not in head.columns:
        return 0
    return 100 if {"body", "url"} <= head.columns or "response" in head.columns else 0


def body_features(body: object) -> list[str]:
    """What an OpenAI request body asks for: stream, tools, schema, images."""
    marks = []
    if at(body, "stream"):
        marks.append("stream")
    if first(body, "tools", "functions"):
        marks.append("tools")
    kind = at(body, "response_format.type")
    if kind in ("json_schema", "json_object") or first(body, "guided_json", "structured_outputs"):
        marks.append("schema")
    if "image" in _kinds(at(body, "messages")):
        marks.append("images")
    return marks


def _kinds(messages: object) -> set[str]:
    found = set()
    for message in messages if isinstance(messages, list) else ():
        content = at(message, "content")
        for part in content if isinstance(content, list) else ():
            if str(at(part, "type")).startswith(("image", "input_image")):
                found.add("image")
    return found


def _add(record: Record, rows: Rows) -> None:
    if "body" in record:
        body = record["body"]
        rows.add(
            prompt=prompt_text(first(body, "messages", "input", "prompt")),
            features=body_features(body),
            labels={"model": at(body, "model")},
        )
        return
    status = at(record, "response.status_code")
    failed = record.get("error") is not None or (isinstance(status, int) and status >= 400)
    usage = at(record, "response.body.usage")
    rows.add(
        input_tokens=count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=count(usage, "completion_tokens", "output_tokens"),
        labels={
            "model": at(record, "response.body.model"),
            "outcome": "failed" if failed else "completed",
        },
    )


def _read(member: Member, rows: Rows, _options: Options) -> None:
    if b'"body"' in member.head()[:65536] and b'"custom_id"' in member.head()[:65536]:
        rows.carries("stream", "tools", "schema", "images")
    for line, record in json_records(member, rows):
        safely(line, record, rows, _add)


READER = Reader(
    id="openai-batch",
    title="OpenAI batch JSON lines (input or output; no times)",
    tested=False,
    sniff=_sniff,
    read=_read,
)
