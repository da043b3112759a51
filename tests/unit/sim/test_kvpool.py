"""Whose number the size of the KV cache is."""

from __future__ import annotations

import pytest

from seatrial.sim.cells import engine_limits
from seatrial.sim.kvpool import kv_pool


@pytest.mark.parametrize(
    ("effective", "computed", "used", "tokens", "difference"),
    [
        ({"kv_capacity_tokens": 1000}, 1200, "reported", 1000, 0.2),
        ({"kv_capacity_tokens": 1000}, None, "reported", 1000, None),
        ({}, 1200, "computed", 1200, None),
        ({"slots": 4, "context_tokens": 512}, None, "reserved", 2048, None),
        ({"slots": 4, "context_tokens": 512}, 9000, "reserved", 2048, None),
        ({}, None, "unlimited", None, None),
    ],
)
def test_the_engine_wins_and_both_are_kept(effective, computed, used, tokens, difference):
    found = kv_pool(effective, computed)
    assert (found.used, found.tokens) == (used, tokens)
    assert found.difference == (None if difference is None else pytest.approx(difference))
    assert found.reported == effective.get("kv_capacity_tokens")
    if used == "reported":
        assert found.computed == computed
    assert ("no limit" in found.says) == (used == "unlimited")


def test_a_computed_pool_limits_only_an_engine_that_is_silent():
    silent, _ = engine_limits({}, 100, computed_pool=1600)
    told, _ = engine_limits({"kv_capacity_tokens": 800}, 100, computed_pool=1600)
    slots, _ = engine_limits({"slots": 2, "context_tokens": 512}, 100, computed_pool=1600)
    assert (silent.blocks, told.blocks) == (100, 50)
    assert (slots.blocks, slots.reserve_tokens) == (64, 512)
