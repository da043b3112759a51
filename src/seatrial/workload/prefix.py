"""Prefix reuse: hits of an infinite cache, and of LRU caches of every size.

Token weights: every block counts ``block_tokens``, the last one of a request what remains of its
input. The mean over requests of their own hits (``per_request_mean``) is another number: some
tools print it as the cache's hit rate, which it is not (docs/method/fingerprint.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seatrial.trace import RequestTable
from seatrial.trace.closing import take_blocks
from seatrial.trace.rows import PIECE_CHARS
from seatrial.trace.table import Blocks, Ints
from seatrial.workload.lengths import distribution
from seatrial.workload.profile import Distribution, Prefix
from seatrial.workload.stack import dense_ids, hit_capacities

CAPACITIES = (
    1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000,
)  # fmt: skip


def weights(table: RequestTable, blocks: Blocks) -> Ints:
    """Tokens that each block stands for.

    ``block_tokens`` each, the last one of a request what remains of its input. Pieces of a text
    have no size in tokens of their own: each gets its share of the request's tokens by length.
    """
    sizes = np.diff(blocks.offsets)
    inputs = table.input_tokens
    if inputs is None:
        return np.full(len(blocks.hashes), blocks.block_tokens, dtype=np.int64)
    if table.input_chars is not None:
        chars = np.maximum(table.input_chars, 1)
        share = np.rint(PIECE_CHARS * inputs / chars).astype(np.int64)
        known = (table.input_chars > 0) & (inputs >= 0)
        return np.repeat(np.where(known, np.maximum(share, 1), blocks.block_tokens), sizes)
    out = np.full(len(blocks.hashes), blocks.block_tokens, dtype=np.int64)
    some = np.flatnonzero(sizes > 0)
    rest = inputs[some] - (sizes[some] - 1) * blocks.block_tokens
    right = (rest > 0) & (rest <= blocks.block_tokens) & (inputs[some] >= 0)
    out[blocks.offsets[some + 1][right] - 1] = rest[right]
    return out


def prefix(table: RequestTable, capacities: Sequence[int] = CAPACITIES) -> Prefix | None:
    """All of it; None where the trace has no blocks. ``capacities`` in blocks."""
    blocks = table.blocks
    if blocks is None or len(blocks.hashes) == 0:
        return None
    reuse = reuse_of(table)
    sizes = np.diff(blocks.offsets)
    some = sizes > 0
    shared, share = shared_prefix(blocks)
    half = table.n // 2
    return Prefix(
        block_tokens=blocks.block_tokens,
        blocks=len(blocks.hashes),
        unique_blocks=_distinct(blocks.hashes),
        block_hit=float(reuse.hits.sum() / len(blocks.hashes)),
        token_hit=reuse.token_hit(0),
        per_request_mean=float(np.mean(reuse.hits[some] / sizes[some])),
        last_half_token_hit=reuse.token_hit(half) if half else None,
        per_session_block_hit=_per_session(table, blocks, reuse),
        requests_with_hit=float(np.mean(reuse.hits[some] > 0)),
        requests_all_hit=float(np.mean(reuse.hits[some] == sizes[some])),
        lru=reuse.curve(capacities),
        aligned_chunk_hit=chunk_hit(table),
        shared_prefix_tokens=shared,
        shared_prefix_share=share,
    )


@dataclass(frozen=True, slots=True)
class Reuse:
    """The pass over a trace's blocks, from which every hit is read off.

    Attributes:
        needs: smallest capacity with which each block hits, 0 for never.
        tokens: that each block stands for.
        hits: (n,) blocks of each request that hit an infinite cache.
        totals: (n,) input tokens of each request, at least those of its blocks.
    """

    offsets: Ints
    needs: Ints
    tokens: Ints
    hits: Ints
    totals: Ints

    def token_hit(self, first: int) -> float:
        """Token-weighted hit of an infinite cache over requests ``first`` and later."""
        start, total = int(self.offsets[first]), int(self.totals[first:].sum())
        return int(self.tokens[start:][self.needs[start:] > 0].sum()) / total if total else 0.0

    def curve(self, capacities: Sequence[int], first: int = 0) -> dict[str, float]:
        """Capacity in blocks -> token-weighted hit of an LRU cache, requests ``first`` and on."""
        start = int(self.offsets[first])
        per_need = np.bincount(self.needs[start:], weights=self.tokens[start:])
        per_need[0] = 0.0  # never hits, whatever the capacity
        running = np.cumsum(per_need)
        total = int(self.totals[first:].sum()) or 1
        return {str(c): float(running[min(c, len(running) - 1)] / total) for c in capacities}


def reuse_of(table: RequestTable) -> Reuse:
    """One pass over the blocks of a trace that has some."""
    blocks = table.blocks
    assert blocks is not None
    tokens = weights(table, blocks)
    needs = hit_capacities(blocks)
    totals = _per_request(tokens, blocks.offsets)
    if table.input_tokens is not None:
        totals = np.maximum(totals, table.input_tokens)
    hits = _per_request((needs > 0).astype(np.int64), blocks.offsets)
    return Reuse(blocks.offsets, needs, tokens, hits, totals)


def _per_request(values: Ints, offsets: Ints) -> Ints:
    out = np.zeros(len(offsets) - 1, dtype=np.int64)
    some = offsets[:-1] < offsets[1:]
    if some.any():
        out[some] = np.add.reduceat(values, offsets[:-1][some])
    return out


def _per_session(table: RequestTable, blocks: Blocks, reuse: Reuse) -> Distribution | None:
    """Block hit of each session that has blocks, with a cache of its own."""
    if table.session is None or not (table.session >= 0).any():
        return None
    sizes = np.diff(blocks.offsets)
    hits = reuse.hits if _apart(table.session, blocks) else _own_hits(table.session, blocks)
    there = table.session >= 0
    total = np.bincount(table.session[there], weights=sizes[there])
    good = np.bincount(table.session[there], weights=hits[there])
    return distribution(good[total > 0] / total[total > 0])


def _apart(session: Ints, blocks: Blocks) -> bool:
    """Whether no block belongs to two sessions."""
    ids, count = dense_ids(blocks.hashes)
    owner = np.repeat(session, np.diff(blocks.offsets))
    last = np.empty(count, dtype=np.int64)
    last[ids] = owner
    return bool(np.all(last[ids] == owner))


def _own_hits(session: Ints, blocks: Blocks) -> Ints:
    """Blocks of each request that hit a cache which only its own session fills."""
    order = np.argsort(session, kind="stable")
    apart = take_blocks(blocks, order)
    owner = np.repeat(session[order], np.diff(apart.offsets)) + 1
    own, count = dense_ids(apart.hashes)
    pairs = Blocks(apart.offsets, owner * count + own, blocks.block_tokens)
    out = np.empty(len(session), dtype=np.int64)
    out[order] = _per_request((hit_capacities(pairs) > 0).astype(np.int64), apart.offsets)
    return out


def _distinct(hashes: Ints) -> int:
    ids, count = dense_ids(hashes)
    seen = np.zeros(count, dtype=np.bool_)
    seen[ids] = True
    return int(seen.sum())


def chunk_hit(table: RequestTable) -> float | None:
    """Share of pieces whose content was seen in an earlier request, at whatever place."""
    chunks = table.chunks
    if chunks is None or len(chunks.hashes) == 0:
        return None
    owner = np.repeat(np.arange(table.n), np.diff(chunks.offsets))
    ids, count = dense_ids(chunks.hashes)
    first = np.full(count, table.n, dtype=np.int64)
    np.minimum.at(first, ids, owner)
    return float(np.mean(first[ids] < owner))


def shared_prefix(blocks: Blocks) -> tuple[int, float]:
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
