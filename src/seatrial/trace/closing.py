"""From collected rows to the table: order of arrival, gaps named, blocks moved along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seatrial.trace.table import Blocks, Ints, RequestTable

if TYPE_CHECKING:
    from seatrial.trace.rows import Rows

Order = NDArray[np.intp]
_EPOCHS = 978_307_200_000_000_000  # 2001: what lies before is a time from some start
GAPS = {
    "arrival": "arrival times",
    "input": "input tokens",
    "output": "output tokens",
    "session": "sessions",
    "ttft": "TTFT",
    "e2e": "latency",
    "label/model": "model",
    "label/client": "clients",
    "label/outcome": "outcomes",
}


def close(rows: Rows) -> RequestTable:
    """The table of these rows, sorted by arrival (stable), the first at 0."""
    order, arrival, first = _order(rows)
    session = _ordered(rows, "session", order)
    turn = _ordered(rows, "turn", order)
    if turn is None and session is not None:
        turn = turns_of(session)
    return RequestTable(
        format=rows.format,
        n=rows.n if order is None else len(order),
        arrival_ns=arrival,
        epoch_ns=first if first is not None and first >= _EPOCHS else None,
        grain_ns=rows.grain_ns,
        input_tokens=_ordered(rows, "input", order),
        output_tokens=_ordered(rows, "output", order),
        session=session,
        turn=turn,
        blocks=_blocks(rows, order),
        ttft_ns=_ordered(rows, "ttft", order),
        e2e_ns=_ordered(rows, "e2e", order),
        think_ns=_ordered(rows, "think", order),
        session_ns=_ordered(rows, "session_ns", order),
        input_chars=_ordered(rows, "input_chars", order),
        output_chars=_ordered(rows, "output_chars", order),
        chunks=_chunks(rows, order),
        features=_features(rows, order),
        label={
            name.removeprefix("label/"): column
            for name in rows.ints
            if name.startswith("label/") and (column := _ordered(rows, name, order)) is not None
        },
        labels={n: c.names() for n, c in rows.categories.items() if n != "session"},
        files=tuple(rows.files),
        bad_rows=tuple(rows.bad_rows),
        estimated=tuple(rows.estimated),
        missing=tuple(dict.fromkeys([*_gaps(rows), *rows.missing])),
        notes=tuple(dict.fromkeys(rows.notes)),
    )


def _order(rows: Rows) -> tuple[Order | None, Ints | None, int | None]:
    arrival = _column(rows, "arrival")
    if arrival is None:
        return None, None, None
    keep = np.flatnonzero(arrival >= 0)
    if lost := rows.n - len(keep):
        rows.bad_count += lost
        rows.notes.append(f"{lost} rows without a time were left out")
    order = keep[np.argsort(arrival[keep], kind="stable")]
    arrival = arrival[order]
    if len(arrival) == 0:
        return order, arrival, None
    return order, arrival - arrival[0], int(arrival[0])


def _column(rows: Rows, name: str) -> Ints | None:
    column = rows.ints.get(name)
    if column is None:
        return None
    out = np.full(rows.n, -1, dtype=np.int64)
    out[: len(column)] = np.frombuffer(column, dtype=np.int64)
    return out


def _ordered(rows: Rows, name: str, order: Order | None) -> Ints | None:
    column = _column(rows, name)
    return column if column is None or order is None else column[order]


def _features(rows: Rows, order: Order | None) -> dict[str, NDArray[np.bool_]]:
    out = {}
    for name, marks in rows.features.items():
        column = np.zeros(rows.n, dtype=np.bool_)
        column[: len(marks)] = np.frombuffer(bytes(marks), dtype=np.bool_)
        out[name] = column if order is None else column[order]
    return out


def _blocks(rows: Rows, order: Order | None) -> Blocks | None:
    if not rows.has_blocks:
        return None
    blocks = Blocks(
        offsets=np.array(rows.offsets, dtype=np.int64),
        hashes=np.array(rows.hashes, dtype=np.int64),
        block_tokens=rows.block_tokens or 1,
    )
    return blocks if order is None else take_blocks(blocks, order)


def _chunks(rows: Rows, order: Order | None) -> Blocks | None:
    if len(rows.chunk_ids) == 0:
        return None
    chunks = Blocks(
        offsets=np.array(rows.chunk_offsets, dtype=np.int64),
        hashes=np.array(rows.chunk_ids, dtype=np.int64),
        block_tokens=rows.block_tokens or 1,
    )
    return chunks if order is None else take_blocks(chunks, order)


def _gaps(rows: Rows) -> list[str]:
    gaps = [words for name, words in GAPS.items() if name not in rows.ints]
    if not rows.has_blocks:
        gaps.append("prefix blocks")
    if not rows.features:
        gaps.append("request features")
    return gaps


def turns_of(session: Ints) -> Ints:
    """0-based turn of each request within its session, in the order given; -1 without session."""
    order = np.argsort(session, kind="stable")
    grouped = session[order]
    starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]]) if len(grouped) else order
    sizes = np.diff(np.r_[starts, len(grouped)])
    turn = np.empty(len(session), dtype=np.int64)
    turn[order] = np.arange(len(session)) - np.repeat(starts, sizes)
    turn[session < 0] = -1
    return turn


def take_blocks(blocks: Blocks, order: NDArray[np.integer]) -> Blocks:
    """The blocks of the requests named by ``order``, in that order."""
    if len(order) == len(blocks.offsets) - 1 and bool(np.all(order == np.arange(len(order)))):
        return blocks
    sizes = np.diff(blocks.offsets)[order]
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    source = np.repeat(blocks.offsets[:-1][order] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Blocks(offsets=offsets, hashes=blocks.hashes[source], block_tokens=blocks.block_tokens)
