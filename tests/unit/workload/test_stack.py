"""LRU hits of every capacity from one pass, against a cache that is really run."""

from __future__ import annotations

from collections import OrderedDict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.trace.table import Blocks
from seatrial.workload import stack
from seatrial.workload.stack import dense_ids, hit_capacities, hit_capacities_plain

Requests = list[list[int]]
requests = st.lists(st.lists(st.integers(0, 25), max_size=10), min_size=1, max_size=30)


def packed(rows: Requests) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return offsets, np.array([b for row in rows for b in row], dtype=np.int64)


def real_cache(rows: Requests, capacity: int) -> list[int]:
    """Leading blocks present per request; then touched last to first, evicting one at a time."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = []
    for row in rows:
        lead = 0
        while lead < len(row) and row[lead] in cache:
            lead += 1
        hits.append(lead)
        for block in reversed(row):
            cache[block] = None
            cache.move_to_end(block)
            if len(cache) > capacity:
                cache.popitem(last=False)
    return hits


@settings(deadline=None, max_examples=200)
@given(requests, st.integers(1, 30))
def test_one_pass_equals_a_real_cache_of_any_size(rows: Requests, capacity: int) -> None:
    offsets, ids = packed(rows)
    needs = hit_capacities_plain(offsets, ids, 26)
    hit = (needs > 0) & (needs <= capacity)
    got = [int(hit[a:b].sum()) for a, b in pairwise(offsets)]
    assert got == real_cache(rows, capacity)


@settings(deadline=None, max_examples=200)
@given(requests, st.integers(1, 3))
def test_the_compiled_pass_equals_the_plain_one(rows: Requests, slack: int) -> None:
    fast = pytest.importorskip("seatrial.workload.stack_fast")
    offsets, ids = packed(rows)
    plain = hit_capacities_plain(offsets, ids, 26)
    assert fast.hit_capacities_fast(offsets, ids, 26, slack=slack).tolist() == plain.tolist()


def test_the_compiled_pass_on_a_long_trace() -> None:
    fast = pytest.importorskip("seatrial.workload.stack_fast")
    random = np.random.default_rng(5)
    sizes = random.integers(0, 60, 3000)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    trees = random.zipf(1.3, 3000) % 300
    ids = np.concatenate([np.arange(s) + t * 60 for s, t in zip(sizes, trees, strict=True)])
    ids = ids.astype(np.int64)
    count = int(ids.max()) + 1
    plain = hit_capacities_plain(offsets, ids, count)
    assert fast.hit_capacities_fast(offsets, ids, count, slack=1).tolist() == plain.tolist()


def test_hashes_of_any_size_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    big = np.array([2**62, -5, 2**62, -5], dtype=np.int64)
    ids, count = dense_ids(big)
    assert count == 2
    assert ids[0] == ids[2] != ids[1]
    blocks = Blocks(np.array([0, 2, 4], dtype=np.int64), big, 16)
    slow = hit_capacities(blocks).tolist()
    monkeypatch.setattr(stack, "WORTH_COMPILING", 0)
    assert hit_capacities(blocks).tolist() == slow == [0, 0, 1, 2]
