"""Changes to a table, each of them counted: slices, rates, lengths, caps.

Prefix blocks go with their requests. When lengths are scaled the block size is scaled with them,
so that the structure of the reuse stays; when inputs are capped the blocks beyond are cut off.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seatrial.core.units import NS_PER_S
from seatrial.trace import RequestTable
from seatrial.trace.closing import take_blocks
from seatrial.trace.table import Blocks, Ints


def take(table: RequestTable, rows: Ints) -> RequestTable:
    """The requests ``rows`` (ascending places); arrivals count from the first of them."""
    arrival = None if table.arrival_ns is None else table.arrival_ns[rows]
    if arrival is not None and len(arrival):
        arrival = arrival - arrival[0]

    def pick(column: Ints | None) -> Ints | None:
        return None if column is None else column[rows]

    return replace(
        table,
        n=len(rows),
        arrival_ns=arrival,
        input_tokens=pick(table.input_tokens),
        output_tokens=pick(table.output_tokens),
        session=pick(table.session),
        turn=pick(table.turn),
        ttft_ns=pick(table.ttft_ns),
        e2e_ns=pick(table.e2e_ns),
        think_ns=pick(table.think_ns),
        session_ns=pick(table.session_ns),
        input_chars=pick(table.input_chars),
        output_chars=pick(table.output_chars),
        chunks=None if table.chunks is None else take_blocks(table.chunks, rows),
        blocks=None if table.blocks is None else take_blocks(table.blocks, rows),
        features={name: marks[rows] for name, marks in table.features.items()},
        label={name: codes[rows] for name, codes in table.label.items()},
    )


def window(
    table: RequestTable,
    *,
    start_s: float = 0.0,
    requests: int | None = None,
    duration_s: float | None = None,
) -> RequestTable:
    """From ``start_s`` on, at most ``requests`` of them, for at most ``duration_s``.

    A trace without times is cut by number only.
    """
    rows = np.arange(table.n, dtype=np.int64)
    if table.arrival_ns is not None:
        low = round(start_s * NS_PER_S)
        keep = table.arrival_ns >= low
        if duration_s is not None:
            keep &= table.arrival_ns < low + round(duration_s * NS_PER_S)
        rows = rows[keep]
    return take(table, rows if requests is None else rows[:requests])


def rate(table: RequestTable, factor: float) -> RequestTable:
    """The same requests ``factor`` times as fast."""
    if table.arrival_ns is None or factor == 1.0:
        return table
    return replace(table, arrival_ns=np.rint(table.arrival_ns / factor).astype(np.int64))


def lengths(table: RequestTable, *, inputs: float = 1.0, outputs: float = 1.0) -> RequestTable:
    """Lengths times a factor, to the nearest token, at least one where there was one."""
    blocks = table.blocks
    scaled = _times(table.input_tokens, inputs)
    if blocks is not None and inputs != 1.0:
        size = max(1, round(blocks.block_tokens * inputs))
        blocks = _cut(Blocks(blocks.offsets, blocks.hashes, size), scaled)
    return replace(
        table,
        input_tokens=scaled,
        output_tokens=_times(table.output_tokens, outputs),
        blocks=blocks,
    )


def _times(column: Ints | None, factor: float) -> Ints | None:
    if column is None or factor == 1.0:
        return column
    out = np.maximum(np.rint(column * factor), 1).astype(np.int64)
    return np.where(column <= 0, column, out)


def cap(
    table: RequestTable, *, inputs: int | None = None, outputs: int | None = None
) -> tuple[RequestTable, dict[str, int]]:
    """Longer inputs and outputs cut to a limit; with how many requests that changed."""
    changed = {}
    new_in, new_out, blocks = table.input_tokens, table.output_tokens, table.blocks
    if inputs is not None and new_in is not None:
        changed["input_capped"] = int((new_in > inputs).sum())
        new_in = np.minimum(new_in, inputs)
        blocks = None if blocks is None else _cut(blocks, new_in)
    if outputs is not None and new_out is not None:
        changed["output_capped"] = int((new_out > outputs).sum())
        new_out = np.minimum(new_out, outputs)
    return replace(table, input_tokens=new_in, output_tokens=new_out, blocks=blocks), changed


def _cut(blocks: Blocks, input_tokens: Ints | None) -> Blocks:
    """No more blocks per request than its input fills."""
    if input_tokens is None:
        return blocks
    sizes = np.diff(blocks.offsets)
    limit = -(-np.maximum(input_tokens, 0) // blocks.block_tokens)
    kept = np.where(input_tokens < 0, sizes, np.minimum(sizes, limit))
    place = np.arange(len(blocks.hashes)) - np.repeat(blocks.offsets[:-1], sizes)
    offsets = np.zeros(len(kept) + 1, dtype=np.int64)
    np.cumsum(kept, out=offsets[1:])
    return Blocks(offsets, blocks.hashes[place < np.repeat(kept, sizes)], blocks.block_tokens)
