"""Access logs of gateways in JSON: Envoy AI Gateway, Kong AI proxy, Portkey.

Field names of Envoy's log are the operator's; those of its example are known here, others need
``--map``. Kong nests under ``ai.<namespace>``; its ``time_per_token`` contains the prefill and is
not used. Portkey writes local times without a zone and no counts for streams.
"""

from __future__ import annotations

from seatrial.trace.formats.openai_batch import body_features
from seatrial.trace.reader import Head, Options, Reader, json_records
from seatrial.trace.record import Record, at, count, first, moment, prompt_text, safely, span
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member


def _is_envoy(head: Head) -> int:
    return 95 if "start_time" in head.columns and "gen_ai.request.model" in head.columns else 0


def _envoy(record: Record, rows: Rows) -> None:
    status = first(record, "response_code")
    rows.add(
        arrival_ns=moment(record, "start_time"),
        input_tokens=count(record, "gen_ai.usage.input_tokens"),
        output_tokens=count(record, "gen_ai.usage.output_tokens"),
        session=first(record, "session.id"),
        e2e_ns=span(record, "duration", unit="ms"),
        labels={
            "model": first(record, "gen_ai.response.model", "gen_ai.request.model"),
            "outcome": outcome(status, record.get("response_flags")),
        },
    )


def outcome(status: object, flags: object = None) -> str | None:
    """What a status and Envoy's response flags say: DC and 499 are the client hanging up."""
    if "DC" in str(flags or "") or str(status) in ("499", "0"):
        return "cancelled"
    if status is None or not str(status).isdigit():
        return None
    return "failed" if int(str(status)[:4]) >= 400 else "completed"


def _is_kong(head: Head) -> int:
    return 90 if isinstance(head.record.get("ai"), dict) else 0


def _kong(record: Record, rows: Rows) -> None:
    spaces = record.get("ai")
    inner = next(
        (v for v in spaces.values() if isinstance(v, dict) and "usage" in v), None
    ) if isinstance(spaces, dict) else None  # fmt: skip
    if inner is None:
        raise ValueError("ai: no usage in it")
    rows.add(
        arrival_ns=moment(record, "started_at", unit="ms"),
        input_tokens=count(inner, "usage.prompt_tokens"),
        output_tokens=count(inner, "usage.completion_tokens"),
        e2e_ns=span(inner, "meta.llm_latency", unit="ms"),
        labels={
            "model": first(inner, "meta.response_model", "meta.request_model"),
            "client": first(record, "consumer.id", "client_ip"),
            "outcome": outcome(at(record, "response.status")),
        },
    )


def _is_portkey(head: Head) -> int:
    return 95 if {"requestoptions", "duration", "endpoint"} <= head.columns else 0


def _portkey(record: Record, rows: Rows) -> None:
    options = record.get("requestOptions")
    inner = options[-1] if isinstance(options, list) and options else {}
    body = at(inner, "requestParams")
    rows.add(
        arrival_ns=moment(record, "time"),
        input_tokens=count(inner, "response.usage.prompt_tokens"),
        output_tokens=count(inner, "response.usage.completion_tokens"),
        e2e_ns=span(record, "duration", unit="ms"),
        prompt=prompt_text(first(body, "messages", "prompt")),
        features=body_features(body),
        labels={"model": at(body, "model"), "outcome": outcome(record.get("status"))},
    )


def _read_envoy(member: Member, rows: Rows, _options: Options) -> None:
    for line, record in json_records(member, rows):
        safely(line, record, rows, _envoy)


def _read_kong(member: Member, rows: Rows, _options: Options) -> None:
    for line, record in json_records(member, rows):
        safely(line, record, rows, _kong)


def _read_portkey(member: Member, rows: Rows, _options: Options) -> None:
    rows.carries("stream", "tools", "schema", "images")
    for line, record in json_records(member, rows):
        safely(line, record, rows, _portkey)


READERS = (
    Reader(
        id="envoy-ai-gateway",
        title="Envoy AI Gateway access log (JSON, fields of its example)",
        tested=False,
        sniff=_is_envoy,
        read=_read_envoy,
    ),
    Reader(
        id="kong", title="Kong AI proxy log (JSON)", tested=False, sniff=_is_kong, read=_read_kong
    ),
    Reader(
        id="portkey",
        title="Portkey open gateway log (JSON)",
        tested=False,
        sniff=_is_portkey,
        read=_read_portkey,
    ),
)
