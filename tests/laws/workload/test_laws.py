"""What must hold of every trace: fingerprints under changes whose effect is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.trace import Blocks, RequestTable
from seatrial.workload import fingerprint, transform


@st.composite
def tables(draw: st.DrawFn) -> RequestTable:
    """Small traces with times, lengths and chained blocks of a random tree."""
    n = draw(st.integers(2, 25))
    stamps = draw(st.lists(st.integers(0, 300_000), min_size=n, max_size=n))  # ms: exact in halves
    times = np.sort(np.array(stamps)) * 1_000_000
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 8, n)
    rows = []
    for size in sizes:
        tree, node = int(random.integers(0, 3)), 0
        row = []
        for _ in range(size):
            node = node * 3 + 1 + int(random.integers(0, 2))
            row.append(tree * 100_000 + node)
        rows.append(row)
    rest = random.integers(1, 17, n)
    inputs = np.where(sizes > 0, (sizes - 1) * 16 + rest, rest)
    return RequestTable(
        format="t",
        n=n,
        arrival_ns=(times - times[0]).astype(np.int64),
        grain_ns=1,
        input_tokens=inputs.astype(np.int64),
        output_tokens=random.integers(1, 500, n).astype(np.int64),
        session=random.integers(0, 4, n).astype(np.int64),
        turn=None,
        blocks=Blocks(
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            np.array([b for row in rows for b in row], dtype=np.int64),
            16,
        ),
    )


@settings(deadline=None, max_examples=80)
@given(tables(), st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_speed_changes_times_and_nothing_else(table: RequestTable, factor: float) -> None:
    a, b = fingerprint(table), fingerprint(transform.rate(table, factor))
    assert a.input_tokens == b.input_tokens
    assert a.prefix == b.prefix
    if a.arrivals is not None and b.arrivals is not None:
        assert b.arrivals.rate_per_s == pytest.approx(factor * a.arrivals.rate_per_s, rel=1e-6)
        if a.arrivals.cv_interarrival is not None and b.arrivals.cv_interarrival is not None:
            assert b.arrivals.cv_interarrival == pytest.approx(a.arrivals.cv_interarrival, rel=1e-6)


@settings(deadline=None, max_examples=80)
@given(tables(), st.integers(1, 2**40))
def test_names_of_blocks_do_not_matter(table: RequestTable, shift: int) -> None:
    assert table.blocks is not None
    renamed = Blocks(
        table.blocks.offsets, table.blocks.hashes * 1_000_003 + shift, table.blocks.block_tokens
    )
    assert fingerprint(replace(table, blocks=renamed)).prefix == fingerprint(table).prefix


@settings(deadline=None, max_examples=80)
@given(tables())
def test_a_larger_cache_never_hits_less_and_none_beats_an_infinite_one(
    table: RequestTable,
) -> None:
    found = fingerprint(table, capacities=range(1, 60)).prefix
    if found is None:
        return
    curve = list(found.lru.values())
    assert all(a <= b + 1e-12 for a, b in pairwise(curve))
    assert curve[-1] == pytest.approx(found.token_hit)
    assert found.per_session_block_hit is not None
    assert found.per_session_block_hit.max <= 1
    assert 0 <= found.token_hit <= 1


@settings(deadline=None, max_examples=80)
@given(tables(), st.integers(1, 24))
def test_parts_of_a_trace_are_its_rows(table: RequestTable, cut: int) -> None:
    cut = min(cut, table.n)
    head = transform.take(table, np.arange(cut))
    tail = transform.take(table, np.arange(cut, table.n))
    assert head.n + tail.n == table.n
    for name in ("input_tokens", "output_tokens", "session"):
        joined = np.concatenate((getattr(head, name), getattr(tail, name)))
        assert joined.tolist() == getattr(table, name).tolist()
    assert head.blocks is not None
    assert tail.blocks is not None
    assert table.blocks is not None
    both = np.concatenate((head.blocks.hashes, tail.blocks.hashes))
    assert both.tolist() == table.blocks.hashes.tolist()


@settings(deadline=None, max_examples=80)
@given(tables(), st.integers(1, 120))
def test_a_cap_leaves_no_more_blocks_than_the_input_fills(table: RequestTable, top: int) -> None:
    capped, changed = transform.cap(table, inputs=top)
    assert capped.input_tokens is not None
    assert capped.blocks is not None
    assert table.input_tokens is not None
    assert int(capped.input_tokens.max()) <= top
    assert changed["input_capped"] == int((table.input_tokens > top).sum())
    assert (np.diff(capped.blocks.offsets) <= -(-capped.input_tokens // 16)).all()
    for i in range(table.n):
        assert table.blocks is not None
        a = table.blocks.hashes[table.blocks.offsets[i] : table.blocks.offsets[i + 1]]
        b = capped.blocks.hashes[capped.blocks.offsets[i] : capped.blocks.offsets[i + 1]]
        assert b.tolist() == a[: len(b)].tolist()
