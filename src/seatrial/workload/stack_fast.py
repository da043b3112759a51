"""The stack-distance pass of ``stack``, compiled with numba (extra ``fast``).

The same numbers as the plain version, faster for three reasons. Live positions are bits, 4,096 to
a superblock, so that the Fenwick tree over superblocks stays in the first-level cache. The depth
only needs counting when a block was touched longer ago than all before it in its request, and
then only from the last such place on. And positions are renumbered when the bitmap is full, so
that memory is bounded by distinct blocks, not by touches.
"""

from __future__ import annotations

import numba
import numpy as np

from seatrial.trace.table import Ints

_SHIFT = 12
_WORD = 6
_WORDS_PER_SUPER = 1 << (_SHIFT - _WORD)


@numba.njit(cache=True, inline="always")
def _popcount(x):  # type: ignore[no-untyped-def]
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@numba.njit(cache=True)
def _below(tree, bits, place):  # type: ignore[no-untyped-def]
    """Live positions < place."""
    total = 0
    node = place >> _SHIFT
    first = node << (_SHIFT - _WORD)
    while node > 0:
        total += tree[node]
        node -= node & -node
    word = place >> _WORD
    for w in range(first, word):
        if bits[w]:
            total += _popcount(bits[w])
    inside = place & 63
    if inside:
        total += _popcount(bits[word] & ((np.uint64(1) << np.uint64(inside)) - np.uint64(1)))
    return total


@numba.njit(cache=True)
def _add(tree, place, amount):  # type: ignore[no-untyped-def]
    node = (place >> _SHIFT) + 1
    while node < len(tree):
        tree[node] += amount
        node += node & -node


@numba.njit(cache=True)
def _between(bits, low, high):  # type: ignore[no-untyped-def]
    """Live positions in [low, high), for places that are near each other."""
    total = 0
    word, last = low >> _WORD, high >> _WORD
    if word == last:
        mask = (np.uint64(1) << np.uint64(high - low)) - np.uint64(1)
        return _popcount((bits[word] >> np.uint64(low & 63)) & mask)
    total += _popcount(bits[word] >> np.uint64(low & 63))
    for w in range(word + 1, last):
        total += _popcount(bits[w])
    inside = high & 63
    if inside:
        total += _popcount(bits[last] & ((np.uint64(1) << np.uint64(inside)) - np.uint64(1)))
    return total


@numba.njit(cache=True)
def _renumber(last, owner, bits, tree, clock):  # type: ignore[no-untyped-def]
    """Close the gaps that dead positions leave; returns the new clock."""
    new = 0
    for place in range(clock):
        if (bits[place >> _WORD] >> np.uint64(place & 63)) & np.uint64(1):
            block = owner[place]
            owner[new] = block
            last[block] = new
            new += 1
    bits[:] = 0
    tree[:] = 0
    for place in range(new):
        bits[place >> _WORD] |= np.uint64(1) << np.uint64(place & 63)
    full = new >> _SHIFT
    for node in range(1, len(tree)):
        low = node - (node & -node)
        held = min(node, full) - min(low, full)
        tree[node] = held << _SHIFT
        if low <= full < node:
            tree[node] += new - (full << _SHIFT)
    return new


@numba.njit(cache=True)
def _pass(offsets, ids, num_ids, size):  # type: ignore[no-untyped-def]
    out = np.zeros(len(ids), dtype=np.int64)
    last = np.full(num_ids, -1, dtype=np.int64)
    owner = np.empty(size, dtype=np.int64)
    bits = np.zeros((size >> _WORD) + 1, dtype=np.uint64)
    tree = np.zeros((size >> _SHIFT) + 2, dtype=np.int64)
    count = clock = 0
    for request in range(len(offsets) - 1):
        start, end = offsets[request], offsets[request + 1]
        if clock + (end - start) > size:
            clock = _renumber(last, owner, bits, tree, clock)
        oldest, deepest = clock, 0
        for i in range(start, end):
            touched = last[ids[i]]
            if touched < 0:
                break
            if touched < oldest:
                if deepest and oldest - touched <= 1 << 10:
                    deepest += _between(bits, touched, oldest)
                else:
                    deepest = count - _below(tree, bits, touched)
                oldest = touched
            out[i] = deepest
        pending, owed = -1, 0
        for i in range(end - 1, start - 1, -1):
            block = ids[i]
            old = last[block]
            if old >= 0:
                bits[old >> _WORD] &= ~(np.uint64(1) << np.uint64(old & 63))
                if old >> _SHIFT != pending:
                    if owed:
                        _add(tree, pending << _SHIFT, owed)
                    pending, owed = old >> _SHIFT, 0
                owed -= 1
                count -= 1
            last[block] = clock
            owner[clock] = block
            bits[clock >> _WORD] |= np.uint64(1) << np.uint64(clock & 63)
            if clock >> _SHIFT != pending:
                if owed:
                    _add(tree, pending << _SHIFT, owed)
                pending, owed = clock >> _SHIFT, 0
            owed += 1
            count += 1
            clock += 1
        if owed:
            _add(tree, pending << _SHIFT, owed)
    return out


def hit_capacities_fast(offsets: Ints, ids: Ints, num_ids: int, *, slack: int = 2) -> Ints:
    """``stack.hit_capacities_plain``, compiled. ``slack``: positions per distinct block."""
    longest = int(np.diff(offsets).max(initial=0))
    size = slack * num_ids + longest + 64
    result: Ints = _pass(offsets, ids, num_ids, size)
    return result
