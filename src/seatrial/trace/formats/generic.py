"""Any CSV or JSON lines with token counts: columns by their usual names, or by a mapping.

The mapping is ``{our field: their column}`` with the fields ``arrival``, ``arrival_unit`` (s, ms,
us, ns), ``input_tokens``, ``output_tokens``, ``session``, ``turn``, ``ttft``, ``e2e``,
``latency_unit``, ``model``, ``adapter``, ``client``, ``outcome``, ``stream``, ``tools``,
``schema``, ``images``. A number that is no epoch is taken as seconds unless a unit is given, and
the table says so.
"""

from __future__ import annotations

from seatrial.core.errors import UsageError
from seatrial.trace.flat import Flat
from seatrial.trace.reader import Head, Options, Reader, look
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member
from seatrial.trace.timestamp import UNIT_NS

FIELDS: dict[str, tuple[str, ...]] = {
    "arrival": (
        "timestamp", "arrival", "arrival_time", "arrived_at", "arrival_s", "req_time", "time",
        "start_time", "starttime", "created_at", "created", "request_time", "datetime", "ts",
    ),
    "input_tokens": (
        "input_tokens", "prompt_tokens", "num_prefill_tokens", "input_length", "prompt_len",
        "prompt_length", "context_tokens", "input_len", "request tokens", "isl", "in_tokens",
        "contexttokens",
    ),
    "output_tokens": (
        "output_tokens", "completion_tokens", "generated_tokens", "num_decode_tokens",
        "output_length", "output_len", "response tokens", "osl", "out_tokens", "generatedtokens",
    ),
    "session": ("session", "session_id", "conversation_id", "chat_id"),
    "turn": ("turn",),
    "model": ("model", "selected_model", "model_name"),
    "adapter": ("adapter", "lora", "lora_name"),
    "client": ("client", "client_id", "user", "user_id", "tenant"),
    "outcome": ("outcome", "status", "finish_reason"),
}  # fmt: skip
SECONDS = "numbers in the time column that are no epoch were taken as seconds"
_LABELS = ("model", "adapter", "client", "outcome")
_FLAGS = ("stream", "tools", "schema", "images")
_EXTRA = (*_FLAGS, "ttft", "e2e", "arrival_unit", "latency_unit")


def columns_of(head: Head, options: Options) -> dict[str, str]:
    """Our field -> the column as written, from the mapping first and by usual names else.

    Raises:
        UsageError: the mapping names a field or a column that does not exist.
    """
    written = {name.strip().lower(): name for name in (head.header or head.record)}
    chosen: dict[str, str] = {}
    for name, column in options.mapping.items():
        if name not in FIELDS and name not in _EXTRA:
            raise UsageError(
                f"the mapping has a field that seatrial does not know: {name}",
                remedy=f"use one of {', '.join((*FIELDS, *_EXTRA))}",
            )
        if name.endswith("_unit"):
            chosen[name] = _unit(column)
        elif column.lower() not in written:
            raise UsageError(
                f"the mapping names a column that is not in the file: {column}",
                where=head.name,
                remedy=f"columns are: {', '.join(sorted(written)[:40])}",
            )
        else:
            chosen[name] = written[column.lower()]
    for name, usual in FIELDS.items():
        hit = next((written[u] for u in usual if u in written), None)
        if hit is not None:
            chosen.setdefault(name, hit)
    return chosen


def _unit(text: str) -> str:
    if text not in UNIT_NS:
        raise UsageError(f"not a unit of time: {text}", remedy="use s, ms, us or ns")
    return text


def _sniff(head: Head) -> int:
    usual = set(FIELDS["input_tokens"]) | set(FIELDS["output_tokens"])
    return 10 if usual & head.columns else 0


def flat_of(head: Head, options: Options) -> Flat:
    """The columns to read, settled once per file.

    Raises:
        UsageError: neither input nor output tokens can be found.
    """
    chosen = columns_of(head, options)
    if "input_tokens" not in chosen and "output_tokens" not in chosen:
        raise UsageError(
            "no column with token counts was found",
            where=head.name,
            remedy="name it: --map input_tokens=COLUMN,output_tokens=COLUMN,arrival=COLUMN",
        )
    return Flat(
        time=chosen.get("arrival"),
        input=chosen.get("input_tokens"),
        output=chosen.get("output_tokens"),
        session=chosen.get("session"),
        turn=chosen.get("turn"),
        ttft=chosen.get("ttft"),
        e2e=chosen.get("e2e"),
        unit=chosen.get("arrival_unit"),
        latency_unit=chosen.get("latency_unit", "s"),
        labels={name: chosen[name] for name in _LABELS if name in chosen},
        flags={name: chosen[name] for name in _FLAGS if name in chosen},
    )


def _read(member: Member, rows: Rows, options: Options) -> None:
    flat = flat_of(look(member), options)
    if flat.time is not None and flat.unit is None:
        rows.notes.append(SECONDS)
    flat.read(member, rows, options)


READER = Reader(
    id="generic",
    title="any CSV or JSON lines with token counts (columns by usual names or --map)",
    tested=True,
    sniff=_sniff,
    read=_read,
)
