"""The simulator against queueing theory, and against what the papers found.

Service is made exponential by geometric answer lengths of many tiny steps; where a step's time does
not depend on the batch, k places are k servers (M/M/k); where it is proportional to the batch, the
engine is shared (M/G/1-PS).
"""

from __future__ import annotations

import numpy as np
import pytest

from seatrial.fit.cost import StepCost
from seatrial.sim import POLICIES, Limits, make_load, poisson, simulate, step_loop
from seatrial.sim.load import Load
from seatrial.sim.queueing import erlang_c, little, mmk_wait, ps_response

CHUNKED = POLICIES["chunked-prefill"]
MEAN_TOKENS = 400


def test_erlang_c_known_values():
    assert erlang_c(1, 0.7) == pytest.approx(0.7)  # M/M/1: the probability of waiting is the load
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(10, 8.0) == pytest.approx(0.40918, abs=1e-5)


@pytest.mark.parametrize(("servers", "offered"), [(1, 0.6), (4, 2.8)])
def test_places_are_the_servers_of_mmk(servers: int, offered: float):
    step = 1.0 / MEAN_TOKENS  # mean service 1 s
    load = poisson(40_000, offered, 1, MEAN_TOKENS, seed=11)
    load = Load(load.arrival, np.ones_like(load.input), load.output, load.cached)
    limits = Limits(max_seqs=servers, token_budget=servers + 1, blocks=1 << 20)
    result = simulate(load, CHUNKED, limits, StepCost(step=step, prefill=0, decode=0))
    service = load.output * step
    waited = float((result.e2e - service).mean())
    expected = mmk_wait(servers, offered, 1.0)
    assert waited == pytest.approx(expected, rel=0.12, abs=2 * step)
    inside = little(offered, float(result.e2e.mean()))
    span = load.arrival[-1]
    assert inside == pytest.approx(float(result.e2e.sum() / span), rel=0.05)


@pytest.mark.parametrize("load_share", [0.3, 0.7])
@pytest.mark.parametrize("kind", ["geometric", "constant"])
def test_a_batch_that_shares_the_engine_is_processor_sharing(load_share: float, kind: str):
    cost = StepCost(step=1e-9, prefill=0, decode=1.0 / MEAN_TOKENS)
    load = poisson(12_000, load_share, 1, MEAN_TOKENS, seed=5)
    output = load.output if kind == "geometric" else np.full(load.n, MEAN_TOKENS)
    load = make_load(load.arrival, np.ones(load.n), output)
    limits = Limits(max_seqs=4096, token_budget=8192, blocks=1 << 24)
    result = simulate(load, CHUNKED, limits, cost)
    mean = ps_response(load_share, float(output.mean()) / MEAN_TOKENS)
    assert float(result.e2e.mean()) == pytest.approx(mean, rel=0.1)


REAL = StepCost(step=6e-3, prefill=2.5e-5, decode=2e-5, context=2e-8)
BUSY = poisson(1500, 12.0, 300, 200, seed=3)
LONGEST = int((BUSY.input + BUSY.output).max())


def reserved(policy: str, blocks: int = 27_000) -> Limits:
    need = LONGEST if policy == "request-level" else 0
    return Limits(max_seqs=64, token_budget=2048, blocks=blocks, reserve_tokens=need)


def test_orca_iteration_level_beats_request_level():
    flood = BUSY.scaled(20)
    static = simulate(flood, POLICIES["request-level"], reserved("request-level"), REAL)
    orca = simulate(flood, POLICIES["iteration-level"], reserved("iteration-level"), REAL)
    assert orca.makespan < static.makespan / 1.5
    static = simulate(BUSY, POLICIES["request-level"], reserved("request-level"), REAL)
    orca = simulate(BUSY, POLICIES["iteration-level"], reserved("iteration-level"), REAL)
    assert np.percentile(orca.ttft, 50) < np.percentile(static.ttft, 50) / 5


def test_paging_holds_more_sequences_than_reservation():
    blocks = 4 * -(-LONGEST // 16)
    paged = Limits(max_seqs=256, token_budget=2048, blocks=blocks)
    whole = Limits(max_seqs=256, token_budget=2048, blocks=blocks, reserve_tokens=LONGEST)
    most = {}
    for name, limits in (("paged", paged), ("reserved", whole)):
        result = step_loop(BUSY, CHUNKED, limits, REAL, keep_steps=True)
        most[name] = np.mean([step.decoding for step in result.timeline])
    assert most["paged"] > 2 * most["reserved"]


def test_sarathi_removes_generation_stalls():
    """The longest gap between two tokens of an answer: prompts first against chunks."""
    long_prompts = make_load(BUSY.arrival[:300], np.full(300, 4000), np.full(300, 100))
    gaps = {}
    for name in ("prefill-first", "chunked-prefill"):
        limits = Limits(max_seqs=64, token_budget=512, blocks=1 << 20)
        result = step_loop(long_prompts, POLICIES[name], limits, REAL, keep_steps=True)
        decode_ends = [step.ended for step in result.timeline if step.decoding]
        gaps[name] = float(np.max(np.diff(decode_ends)))
    assert gaps["chunked-prefill"] < gaps["prefill-first"] / 3


def test_shortest_first_helps_the_short_and_hurts_the_long():
    mixed = make_load(np.zeros(40), np.where(np.arange(40) < 20, 2000, 20), np.full(40, 20))
    limits = Limits(max_seqs=4, token_budget=512, blocks=1 << 16)
    fcfs = simulate(mixed, CHUNKED, limits, REAL)
    shortest = simulate(mixed, POLICIES["shortest-first"], limits, REAL)
    assert shortest.ttft[20:].mean() < fcfs.ttft[20:].mean() / 2
    assert shortest.ttft[:20].mean() > fcfs.ttft[:20].mean()


def test_swapping_saves_computing_and_costs_copying():
    """vLLM's two ways of preempting: which is better depends on the copy (Kwon et al., 4.5)."""
    load = make_load(np.zeros(40), np.full(40, 300), np.full(40, 120))
    spans = {}
    for name, seconds in (("prefill-first", 0.0), ("prefill-first-swap", 1e-6),
                          ("prefill-first-swap", 0.05)):  # fmt: skip
        limits = Limits(max_seqs=32, token_budget=2048, blocks=400, swap_block_s=seconds)
        result = simulate(load, POLICIES[name], limits, REAL)
        assert result.preempted.sum() > 0
        spans[name, seconds] = result.makespan
    again = spans["prefill-first", 0.0]
    assert spans["prefill-first-swap", 1e-6] < again < spans["prefill-first-swap", 0.05]


def test_a_full_host_computes_again():
    load = make_load(np.zeros(40), np.full(40, 300), np.full(40, 120))
    none = Limits(max_seqs=32, token_budget=2048, blocks=400, host_blocks=0, swap_block_s=9.0)
    swapping = step_loop(load, POLICIES["prefill-first-swap"], none, REAL)
    again = step_loop(load, POLICIES["prefill-first"], none, REAL)
    assert swapping.finish.tobytes() == again.finish.tobytes()
