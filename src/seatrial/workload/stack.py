"""Stack distances: the hit of an LRU cache of every capacity from one pass.

LRU is a stack algorithm (Mattson, Gecsei, Slutz and Traiger, IBM Systems Journal 9, 1970): a
block is in a cache of C blocks exactly if fewer than C other blocks were touched since its last
touch. A request's leading blocks hit up to the first that is absent, so block i of a request hits
for every capacity from the largest depth among blocks 0..i on. A request touches its blocks last
to first (leaf first), so that its tail is evicted before its head.

This is the plain version; ``stack_fast`` compiles the same pass with numba. Both give, per block
of every request, the smallest capacity with which it hits (0: never).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from seatrial.trace.table import Blocks, Ints

WORTH_COMPILING = 1_000_000
_CHUNK = 12


def dense_ids(hashes: Ints) -> tuple[Ints, int]:
    """Ids 0..k-1 for these hashes, and k."""
    if len(hashes) and hashes.min() >= 0 and hashes.max() < 4 * len(hashes):
        return hashes, int(hashes.max()) + 1
    unique, inverse = np.unique(hashes, return_inverse=True)
    return inverse.astype(np.int64).reshape(-1), len(unique)


def hit_capacities_plain(offsets: Ints, ids: Ints, num_ids: int) -> Ints:
    """Smallest capacity in blocks with which each block hits; 0 where it never does.

    A block's depth is the number of positions of touches, from its own last touch on, that are
    still some block's last one (``live``). Positions are counted in chunks; a block touched just
    before the previous one of its request is one deeper, which spares nearly all of the counting.

    Args:
        offsets: (n + 1,) request i has ids[offsets[i]:offsets[i + 1]].
        ids: dense block ids.
    """
    out = np.zeros(len(ids), dtype=np.int64)
    last = [-1] * num_ids
    live = bytearray(len(ids))
    chunks = [0] * ((len(ids) >> _CHUNK) + 1)
    count = clock = 0
    for start, end in pairwise(offsets.tolist()):
        blocks = ids[start:end].tolist()
        oldest, deepest = clock, 0
        lead = []
        for block in blocks:
            touched = last[block]
            if touched < 0:
                break
            if touched < oldest:
                if touched == oldest - 1:
                    deepest += 1
                else:
                    deepest = count - _below(chunks, live, touched)
                oldest = touched
            lead.append(deepest)
        out[start : start + len(lead)] = lead
        for block in reversed(blocks):
            old = last[block]
            if old >= 0:
                live[old] = 0
                chunks[old >> _CHUNK] -= 1
                count -= 1
            last[block] = clock
            live[clock] = 1
            chunks[clock >> _CHUNK] += 1
            count += 1
            clock += 1
    return out


def _below(chunks: list[int], live: bytearray, place: int) -> int:
    """Live positions before ``place``."""
    chunk = place >> _CHUNK
    return sum(chunks[:chunk]) + live.count(1, chunk << _CHUNK, place)


def hit_capacities(blocks: Blocks) -> Ints:
    """``hit_capacities_plain`` of a trace's blocks, compiled where the extra ``fast`` is there.

    A short trace is done before numba is loaded, so it takes the plain version.
    """
    ids, num_ids = dense_ids(blocks.hashes)
    if len(ids) >= WORTH_COMPILING:
        try:
            from seatrial.workload.stack_fast import hit_capacities_fast
        except ImportError:
            pass
        else:
            return hit_capacities_fast(blocks.offsets, ids, num_ids)
    return hit_capacities_plain(blocks.offsets, ids, num_ids)
