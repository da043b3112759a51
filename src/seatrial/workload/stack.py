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

import numpy as np

from seatrial.trace.table import Blocks, Ints

WORTH_COMPILING = 250_000


def dense_ids(hashes: Ints) -> tuple[Ints, int]:
    """Ids 0..k-1 for these hashes, and k."""
    if len(hashes) and hashes.min() >= 0 and hashes.max() < 4 * len(hashes):
        return hashes, int(hashes.max()) + 1
    unique, inverse = np.unique(hashes, return_inverse=True)
    return inverse.astype(np.int64).reshape(-1), len(unique)


class _Fenwick:
    """Prefix sums over positions of touches (Fenwick, Software 24, 1994)."""

    def __init__(self, size: int) -> None:
        self._tree = [0] * (size + 1)
        self._size = size

    def add(self, place: int, amount: int) -> None:
        place += 1
        tree, size = self._tree, self._size
        while place <= size:
            tree[place] += amount
            place += place & -place

    def below(self, place: int) -> int:
        """Sum over positions < place."""
        tree, total = self._tree, 0
        while place > 0:
            total += tree[place]
            place -= place & -place
        return total


def hit_capacities_plain(offsets: Ints, ids: Ints, num_ids: int) -> Ints:
    """Smallest capacity in blocks with which each block hits; 0 where it never does.

    Args:
        offsets: (n + 1,) request i has ids[offsets[i]:offsets[i + 1]].
        ids: dense block ids.
    """
    total = len(ids)
    out = np.zeros(total, dtype=np.int64)
    last = [-1] * num_ids
    live = _Fenwick(total)
    count = clock = 0
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        blocks = ids[start:end].tolist()
        deepest = 0
        for place, block in enumerate(blocks):
            touched = last[block]
            if touched < 0:
                break
            deepest = max(deepest, count - live.below(touched))
            out[start + place] = deepest
        for block in reversed(blocks):
            if last[block] >= 0:
                live.add(last[block], -1)
                count -= 1
            last[block] = clock
            live.add(clock, 1)
            count += 1
            clock += 1
    return out


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
