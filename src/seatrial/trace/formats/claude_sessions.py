"""Claude Code sessions recorded by kv-cache-tester (WEKA): one JSON document per session.

Times are seconds from the session's own start, so how sessions lie to each other is not in the
log: there are no arrival times, but gaps within a session and the client's pauses are. ``in``
counts cached tokens too. Block ids (64 tokens, whole blocks only) are local to their file. The
requests of a sub-agent stand nested, with times from its own start; they belong to the session.
"""

from __future__ import annotations

from array import array

import msgspec
import numpy as np

from seatrial.trace.reader import Head, Options, Reader
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member
from seatrial.trace.table import Ints

BLOCK_TOKENS = 64
MAX_ID = 1 << 40

NOTE = (
    "times are known within a session only; LRU figures take the sessions one after another, "
    "which flatters a small cache"
)


class _Request(msgspec.Struct):
    t: float = 0.0
    type: str = ""
    model: str | None = None
    input: int | None = msgspec.field(default=None, name="in")
    out: int | None = None
    hash_ids: list[int] = []
    output_types: list[str] = []
    stop: str | None = None
    api_time: float | None = None
    think_time: float | None = None
    ttft: float | None = None
    requests: list[_Request] | None = None


class _Session(msgspec.Struct):
    id: str
    requests: list[_Request]
    block_size: int = BLOCK_TOKENS


_DECODER = msgspec.json.Decoder(_Session)


def _sniff(head: Head) -> int:
    data = head.data
    return 100 if b'"hash_id_scope"' in data[:4096] and b'"requests"' in data[:4096] else 0


def _read(member: Member, rows: Rows, _options: Options) -> None:
    try:
        session = _DECODER.decode(member.document())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        rows.bad(1, "not a session document", file=member.name)
        return
    size = session.block_size
    if not 0 < size < 1 << 20 or (rows.block_tokens or size) != size:
        rows.bad(1, "another block size than the files before", file=member.name)
        return
    rows.block_tokens = size
    rows.notes.append(NOTE)
    rows.carries("stream", "tools", "reasoning")
    base, top = rows.next_block, 0
    ordered = sorted(_flat(session.requests, 0.0, 0), key=lambda pair: pair[0])
    for place, (start, one) in enumerate(ordered, 1):
        try:
            ids = _ids(one.hash_ids)
            _add(rows, member.name, start, one, ids + base)
            top = max(top, int(ids.max(initial=-1)) + 1)
        except (ValueError, OverflowError) as error:
            why = str(error)[:120] if isinstance(error, ValueError) else "a number out of range"
            rows.bad(place, why, file=member.name)
    rows.next_block = base + top


def _flat(requests: list[_Request], start: float, depth: int) -> list[tuple[float, _Request]]:
    out = []
    for request in requests:
        if request.requests is not None and depth < 8:
            out.extend(_flat(request.requests, start + request.t, depth + 1))
        else:
            out.append((start + request.t, request))
    return out


def _ids(listed: list[int]) -> Ints:
    ids = np.frombuffer(array("q", listed), dtype=np.int64)
    if len(ids) and not (ids.min() >= 0 and ids.max() < MAX_ID):
        raise ValueError("block ids: out of range")
    return ids


def _add(rows: Rows, name: str, start: float, one: _Request, blocks: Ints) -> None:
    types = one.output_types
    marks = [mark for mark, there in (
        ("stream", one.type == "s"),
        ("tools", "tool_use" in types),
        ("reasoning", "thinking" in types),
    ) if there]  # fmt: skip
    rows.add(
        session=name,
        session_ns=round(start * 1e9),
        input_tokens=one.input,
        output_tokens=one.out,
        e2e_ns=_ns(one.api_time),
        think_ns=_ns(one.think_time),
        ttft_ns=_ns(one.ttft),
        features=marks,
        labels={"model": one.model, "outcome": one.stop},
        blocks=blocks,
    )


def _ns(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


READER = Reader(
    id="claude-sessions",
    title="Claude Code session archive of kv-cache-tester (JSON per session)",
    tested=True,
    sniff=_sniff,
    read=_read,
)
