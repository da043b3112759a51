"""Traces out: the exchange forms that load generators read.

``.jsonl``: Mooncake rows (milliseconds), which vLLM, SGLang, AIPerf and GuideLLM read too. Block
ids are only right to a reader that knows the block size; where it is not Mooncake's 512 it stands
in each row as ``block_tokens``, beside ``session`` and ``turn``. ``.csv``: vidur's (seconds).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import UsageError
from seatrial.store import write_bytes
from seatrial.trace.table import RequestTable

_MOONCAKE_BLOCK = 512


def write(table: RequestTable, path: Path) -> list[str]:
    """Write a table; returns what the form chosen by the file's suffix cannot hold.

    Raises:
        UsageError: another suffix, or a table without lengths.
    """
    if table.input_tokens is None or table.output_tokens is None:
        raise UsageError(
            "a trace without input and output tokens cannot be replayed",
            where=str(path),
            remedy="take a trace that has both",
        )
    if path.suffix == ".jsonl":
        write_bytes(path, b"".join(_rows(table)))
        return _lost(table, ("blocks", "session", "turn"))
    if path.suffix == ".csv":
        write_bytes(path, "".join(_csv(table)).encode())
        return _lost(table, ())
    raise UsageError(
        f"no form of trace ends in {path.suffix or 'nothing'}",
        where=str(path),
        remedy="write to .jsonl (Mooncake rows) or .csv (seconds and lengths)",
    )


def _rows(table: RequestTable) -> Iterator[bytes]:
    assert table.input_tokens is not None
    assert table.output_tokens is not None
    blocks = table.blocks
    for i in range(table.n):
        row: dict[str, Any] = {}
        if table.arrival_ns is not None:
            row["timestamp"] = _ms(int(table.arrival_ns[i]))
        row["input_length"] = max(0, int(table.input_tokens[i]))
        row["output_length"] = max(0, int(table.output_tokens[i]))
        if blocks is not None:
            row["hash_ids"] = blocks.hashes[blocks.offsets[i] : blocks.offsets[i + 1]].tolist()
            if blocks.block_tokens != _MOONCAKE_BLOCK:
                row["block_tokens"] = blocks.block_tokens
        if table.session is not None and table.session[i] >= 0:
            row["session"] = int(table.session[i])
            if table.turn is not None:
                row["turn"] = int(table.turn[i])
        yield msgspec.json.encode(row) + b"\n"


def _ms(ns: int) -> int | float:
    whole, rest = divmod(ns, 1_000_000)
    return whole if rest == 0 else ns / 1_000_000


def _csv(table: RequestTable) -> Iterator[str]:
    assert table.input_tokens is not None
    assert table.output_tokens is not None
    timed = table.arrival_ns is not None
    yield ("arrived_at," if timed else "") + "num_prefill_tokens,num_decode_tokens\n"
    for i in range(table.n):
        lengths = f"{max(0, int(table.input_tokens[i]))},{max(0, int(table.output_tokens[i]))}\n"
        if table.arrival_ns is None:
            yield lengths
        else:
            seconds, rest = divmod(int(table.arrival_ns[i]), 1_000_000_000)
            yield f"{seconds}.{rest:09d},{lengths}"


def _lost(table: RequestTable, kept: tuple[str, ...]) -> list[str]:
    columns = {
        "blocks": "prefix blocks",
        "session": "sessions",
        "ttft_ns": "TTFT",
        "e2e_ns": "latency",
        "features": "request features",
        "label": "labels",
    }
    lost = []
    for name, words in columns.items():
        value = getattr(table, name)
        if name not in kept and value is not None and not (isinstance(value, dict) and not value):
            lost.append(words)
    return lost
