"""The mock engine's law, KV cache and batching, without a clock."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.mock.kv import KvCache, block_hashes
from seatrial.mock.law import FixedLaw, StepLaw
from seatrial.mock.scheduler import Scheduler, Sequence
from seatrial.mock.tokens import render_chat, tokenize, word


def run_out(scheduler: Scheduler, limit: int = 20_000) -> int:
    total = 0
    for _ in range(limit):
        step = scheduler.step()
        if step is None:
            return total
        total += step.duration_ns
    raise AssertionError("it never ends")


def test_one_request_takes_what_the_law_says():
    law = StepLaw(base_us=1000, per_prefill_token_us=10, per_sequence_us=100)
    scheduler = Scheduler(law)
    scheduler.submit(Sequence(prompt=list(range(100)), output_tokens=5))
    # one prefill step of 100 tokens, four decode steps of one sequence
    assert run_out(scheduler) == (1000 + 1000) * 1000 + 4 * (1000 + 100) * 1000


def test_chunked_prefill_keeps_to_the_budget():
    scheduler = Scheduler(StepLaw(batch_tokens=64))
    scheduler.submit(Sequence(prompt=list(range(150)), output_tokens=1))
    sizes = []
    while (step := scheduler.step()) is not None:
        sizes.append(step.prefill_tokens)
    assert sizes == [64, 64, 22]


def test_a_repeated_prompt_comes_from_the_prefix_cache_and_not_when_it_is_off():
    for on in (True, False):
        scheduler = Scheduler(StepLaw(prefix_cache=on, block_tokens=16))
        cached = []
        for _ in range(2):
            sequence = Sequence(prompt=list(range(64)), output_tokens=2)
            scheduler.submit(sequence)
            run_out(scheduler)
            cached.append(sequence.cached)
        # the last token is always computed, so of four full blocks three are reused
        assert cached == ([0, 48] if on else [0, 0])


def test_preemption_recomputes_and_everybody_finishes():
    scheduler = Scheduler(StepLaw(kv_blocks=12, block_tokens=4, prefix_cache=False))
    sequences = [Sequence(prompt=[i] * 12, output_tokens=20) for i in range(3)]
    for sequence in sequences:
        scheduler.submit(sequence)
    run_out(scheduler)
    assert [s.emitted for s in sequences] == [20, 20, 20]
    assert scheduler.preemptions > 0
    assert scheduler.kv.used == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 15), st.integers(0, 3)), max_size=12),
    st.integers(14, 40),
    st.booleans(),
)
def test_blocks_are_conserved_and_every_token_is_made(requests, blocks, cache):
    law = StepLaw(kv_blocks=blocks, block_tokens=4, batch_tokens=16, max_sequences=5)
    scheduler = Scheduler(StepLaw(**{**_fields(law), "prefix_cache": cache}))
    sequences = [Sequence(prompt=[p] * n, output_tokens=out) for n, out, p in requests]
    for sequence in sequences:
        scheduler.submit(sequence)
    for _ in range(5000):
        kv = scheduler.kv
        held = sum(s.anonymous for s in scheduler.running)
        shared = {h for s in scheduler.running for h in s.shared}
        assert kv.free + len(kv._idle) + held + len(shared) == kv.blocks
        if scheduler.step() is None:
            break
    assert [s.emitted for s in sequences] == [s.output_tokens for s in sequences]
    assert scheduler.kv.used == 0


def _fields(law: StepLaw) -> dict[str, object]:
    return {name: getattr(law, name) for name in law.__struct_fields__}


def test_a_cancelled_sequence_gives_its_blocks_back():
    scheduler = Scheduler(StepLaw(prefix_cache=False))
    sequence = Sequence(prompt=list(range(50)), output_tokens=50)
    scheduler.submit(sequence)
    scheduler.step()
    assert scheduler.kv.used > 0
    scheduler.cancel(sequence)
    assert scheduler.kv.used == 0
    assert scheduler.step() is None


def test_the_least_recently_used_block_is_evicted_first():
    cache = KvCache(4, prefix_cache=True)
    for value in (1, 2):
        assert cache.allocate(1)
        assert cache.publish(value)
        cache.release([value], 0)
    assert cache.match([1]) == 1
    cache.acquire([1])
    cache.release([1], 0)  # 1 is now the younger one
    assert cache.allocate(3)
    assert cache.match([2]) == 0
    assert cache.match([1]) == 1


def test_block_hashes_are_chained():
    a, b = block_hashes([1, 2, 3, 4], 2), block_hashes([9, 2, 3, 4], 2)
    assert len(a) == 2
    assert a[1] != b[1]


def test_every_output_word_is_one_token_and_the_template_adds_a_constant():
    assert all(len(tokenize(word(i))) == 1 for i in range(700))
    one, two = (len(render_chat([{"role": "user", "content": "a" + " b" * n}])) for n in (1, 5))
    assert two - one == 4


def test_the_fixed_law_knows_nothing_of_load():
    assert FixedLaw(ttft_ms=300, itl_ms=20).token_ns(7, 3) == 7 + 360_000_000
