"""Replicas, routers, prefill and decode apart, speculation, prefix caches."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from seatrial.core.errors import UsageError
from seatrial.fit.cost import StepCost
from seatrial.sim import POLICIES, Limits, make_load, poisson, simulate
from seatrial.sim.cluster import LeastLoaded, PrefixAware, RoundRobin, simulate_cluster
from seatrial.sim.disaggregated import Split, simulate_split
from seatrial.sim.prefix import cached_tokens
from seatrial.sim.speculative import Speculation, speculative
from seatrial.trace.table import Blocks, RequestTable

COST = StepCost(step=6e-3, prefill=5e-5, decode=1e-4, context=2e-8)
LIMITS = Limits(max_seqs=8, token_budget=512, blocks=1 << 16)
POLICY = POLICIES["chunked-prefill"]
LOAD = poisson(300, 20.0, 200, 40, seed=2)


def test_one_replica_behind_a_router_is_one_engine():
    alone = simulate(LOAD, POLICY, LIMITS, COST)
    for router in (RoundRobin(), LeastLoaded()):
        one = simulate_cluster(LOAD, POLICY, LIMITS, COST, replicas=1, router=router)
        np.testing.assert_allclose(one.finish, alone.finish, rtol=1e-9)


def test_round_robin_is_the_split_simulated_apart():
    both = simulate_cluster(LOAD, POLICY, LIMITS, COST, replicas=2, router=RoundRobin())
    for i in range(2):
        part = simulate(LOAD.part(slice(i, None, 2)), POLICY, LIMITS, COST)
        np.testing.assert_allclose(both.finish[i::2], part.finish, rtol=1e-9)


def test_least_loaded_waits_less_than_round_robin_when_lengths_differ():
    uneven = make_load(LOAD.arrival, np.where(np.arange(300) % 4 == 0, 3000, 20), np.full(300, 40))
    mean = {
        router: simulate_cluster(
            uneven, POLICY, LIMITS, COST, replicas=4, router=router
        ).ttft.mean()
        for router in (RoundRobin(), LeastLoaded())
    }
    robin, least = mean.values()
    assert least < robin


def test_prefix_aware_keeps_prefixes_together_until_the_imbalance():
    prefixes = np.arange(300) % 2
    router = PrefixAware(prefixes, imbalance=1000)
    result = simulate_cluster(LOAD, POLICY, LIMITS, COST, replicas=2, router=router)
    assert np.isfinite(result.finish).all()
    assert len(set(router._home.values())) == 2


def test_no_replica_is_refused():
    with pytest.raises(UsageError):
        simulate_cluster(LOAD, POLICY, LIMITS, COST, replicas=0, router=RoundRobin())


def test_prefill_and_decode_apart_conserve_requests_and_pay_the_transfer():
    free = simulate_split(LOAD, POLICY, LIMITS, COST, Split(prefill=1, decode=1))
    dear = simulate_split(LOAD, POLICY, LIMITS, COST, Split(prefill=1, decode=1, transfer_s=0.5))
    for result in (free, dear):
        assert np.isfinite(result.finish).all()
        assert (result.first_token <= result.finish).all()
    several = LOAD.output > 1
    gap = (dear.finish - free.finish)[several]
    assert (gap > 0.3).mean() > 0.95
    np.testing.assert_allclose(dear.first_token, free.first_token)


def test_distserve_prompts_no_longer_disturb_answers():
    wide = msgspec.structs.replace(LIMITS, max_seqs=64)
    together = simulate_cluster(LOAD, POLICY, wide, COST, replicas=2, router=LeastLoaded())
    apart = simulate_split(LOAD, POLICY, wide, COST, Split(prefill=1, decode=1))
    assert np.percentile(apart.tpot, 99) < np.percentile(together.tpot, 99)


def test_speculation_formula_and_effect():
    how = Speculation(acceptance=0.8, draft_tokens=3)
    assert how.tokens_per_step == pytest.approx(1 + 0.8 + 0.64 + 0.512)
    load, cost = speculative(LOAD, COST, how)
    faster = simulate(load, POLICY, LIMITS, cost)
    assert faster.e2e.mean() < simulate(LOAD, POLICY, LIMITS, COST).e2e.mean()
    useless, dearer = speculative(LOAD, COST, Speculation(acceptance=0.0, draft_tokens=3))
    assert (useless.output == LOAD.output).all()
    assert dearer.decode == 4 * COST.decode
    with pytest.raises(UsageError):
        speculative(LOAD, COST, Speculation(acceptance=1.0, draft_tokens=3))


def table(chains: list[list[int]]) -> RequestTable:
    n = len(chains)
    return RequestTable(
        format="test",
        n=n,
        arrival_ns=np.arange(n) * 10**9,
        grain_ns=1,
        input_tokens=np.array([16 * len(chain) + 5 for chain in chains]),
        output_tokens=np.full(n, 4),
        blocks=Blocks(
            offsets=np.cumsum([0, *map(len, chains)]),
            hashes=np.array([h for chain in chains for h in chain], dtype=np.int64),
            block_tokens=16,
        ),
    )


def test_prefix_cache_counts_leading_blocks_and_throws_leaves_out_first():
    chains = [[1, 2, 3], [1, 2, 4], [9], [1, 2, 3], [2, 1]]
    unbounded = cached_tokens(table(chains), None)
    assert unbounded is not None
    assert unbounded.tolist() == [0, 32, 0, 48, 32]
    small = cached_tokens(table([[1, 2, 3], [1, 2, 3]]), 2)
    assert small is not None
    assert small.tolist() == [0, 32]  # the leaf 3 was thrown out, the root stayed
    plain = RequestTable(
        format="x", n=1, arrival_ns=None, grain_ns=None, input_tokens=None, output_tokens=None
    )
    assert cached_tokens(plain, None) is None


def test_radix_attention_shared_prefixes_cut_the_first_token():
    rng = np.random.default_rng(1)
    chains = [[*range(60), 1000 + i] for i in range(200)]
    shared = table(chains)
    arrival = np.cumsum(rng.exponential(0.05, 200))
    hits = cached_tokens(shared, 10_000)
    cold = make_load(arrival, shared.input_tokens, shared.output_tokens)
    warm = make_load(arrival, shared.input_tokens, shared.output_tokens, hits)
    ttft = [simulate(load, POLICY, LIMITS, COST).ttft.mean() for load in (cold, warm)]
    assert ttft[1] < ttft[0] / 3
