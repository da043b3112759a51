"""Prefix reuse: hits of an infinite cache, and of LRU caches of every size.

Token weights: every block counts ``block_tokens``, the last one of a request what remains of its
input. The mean over requests of their own hits (``per_request_mean``) is another number: some
tools print it as the cache's hit rate, which it is not (docs/method/fingerprint.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seatrial.trace import RequestTable
from seatrial.trace.table import Blocks, Ints
from seatrial.workload.profile import Prefix
from seatrial.workload.stack import hit_capacities

CAPACITIES = (
    1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000,
)  # fmt: skip


def weights(blocks: Blocks, input_tokens: Ints | None) -> Ints:
    """Tokens that each block stands for; the last one of a request holds the remainder."""
    out = np.full(len(blocks.hashes), blocks.block_tokens, dtype=np.int64)
    sizes = np.diff(blocks.offsets)
    some = np.flatnonzero(sizes > 0)
    if input_tokens is None:
        return out
    rest = input_tokens[some] - (sizes[some] - 1) * blocks.block_tokens
    right = (rest > 0) & (rest <= blocks.block_tokens) & (input_tokens[some] >= 0)
    out[blocks.offsets[some + 1][right] - 1] = rest[right]
    return out


def prefix(table: RequestTable, capacities: Sequence[int] = CAPACITIES) -> Prefix | None:
    """All of it; None where the trace has no blocks. ``capacities`` in blocks."""
    blocks = table.blocks
    if blocks is None or len(blocks.hashes) == 0:
        return None
    tokens = weights(blocks, table.input_tokens)
    needs = hit_capacities(blocks)
    hit = needs > 0
    sizes = np.diff(blocks.offsets)
    some = sizes > 0
    hits = np.add.reduceat(hit.astype(np.int64), blocks.offsets[:-1][some])
    shared, share = shared_prefix(blocks, table.input_tokens)
    return Prefix(
        block_tokens=blocks.block_tokens,
        blocks=len(hit),
        unique_blocks=len(np.unique(blocks.hashes)),
        block_hit=float(hit.mean()),
        token_hit=share_of(tokens, hit),
        per_request_mean=float(np.mean(hits / sizes[some])),
        last_half_token_hit=_half(tokens, hit, blocks),
        requests_with_hit=float(np.mean(hits > 0)),
        requests_all_hit=float(np.mean(hits == sizes[some])),
        lru=lru_curve(needs, tokens, capacities),
        aligned_chunk_hit=None,
        shared_prefix_tokens=shared,
        shared_prefix_share=share,
    )


def share_of(tokens: Ints, hit: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Token-weighted share of hits."""
    total = int(tokens.sum())
    return int(tokens[hit].sum()) / total if total else 0.0


def lru_curve(needs: Ints, tokens: Ints, capacities: Sequence[int]) -> dict[str, float]:
    """Capacity in blocks -> token-weighted hit, from the capacities that the blocks need."""
    hit = needs > 0
    order = np.argsort(needs[hit], kind="stable")
    sorted_needs = needs[hit][order]
    running = np.concatenate(([0], np.cumsum(tokens[hit][order])))
    total = int(tokens.sum()) or 1
    places = np.searchsorted(sorted_needs, np.asarray(capacities), side="right")
    return {str(c): float(running[p] / total) for c, p in zip(capacities, places, strict=True)}


def _half(
    tokens: Ints, hit: np.ndarray[tuple[int], np.dtype[np.bool_]], blocks: Blocks
) -> float | None:
    n = len(blocks.offsets) - 1
    start = int(blocks.offsets[n // 2])
    return share_of(tokens[start:], hit[start:]) if n >= 2 and start < len(hit) else None


def shared_prefix(blocks: Blocks, input_tokens: Ints | None) -> tuple[int, float]:
    """The commonest beginning: (tokens of it, share of the requests that begin with it).

    The first block most requests share, followed as long as at least 9 in 10 of those requests
    go on alike: a system prompt, as far as whole blocks show it.
    """
    sizes = np.diff(blocks.offsets)
    rows = np.flatnonzero(sizes > 0)
    depth, share = 0, 0.0
    while len(rows):
        heads = blocks.hashes[blocks.offsets[rows] + depth]
        values, number = np.unique(heads, return_counts=True)
        best = int(number.max())
        if best < 2 or (depth and best < 0.9 * len(rows)):
            break
        if depth == 0:
            share = best / (len(sizes))
        rows = rows[heads == values[number.argmax()]]
        depth += 1
        rows = rows[sizes[rows] > depth]
    return depth * blocks.block_tokens, share
