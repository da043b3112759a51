"""Search and sweep against a live engine whose knee is known.

The mock's step takes 8 ms and 4 ms for each sequence that decodes in it. Of c users one is now and
then in its prefill, so TPOT lies a little under 8 + 4 c ms: at five users under 28 ms, at six over
30 ms. With a limit of 29.2 ms five pass and six fail.
"""

from __future__ import annotations

import pytest

from seatrial import engines
from seatrial.bench.endpoint import EndpointBench, search_goodput, sweep
from seatrial.bench.shape import Shape

_LAW = ["--base-us", "8000", "--per-sequence-us", "4000", "--per-prefill-token-us", "0"]


@pytest.fixture
def engine(mock_url):
    return engines.attach(mock_url(*_LAW))


def _wish(**more) -> EndpointBench:
    shape = Shape(concurrency=4, requests=30, input_tokens=16, output_tokens=16)
    return EndpointBench(shape=shape, seed=3, **more)


@pytest.mark.slow
def test_the_answer_of_a_live_search_contains_the_knee(engine):
    cell, found = search_goodput(_wish(slo={"tpot_ms": 29.2}), engine, target=0.8)
    assert found.low is None or found.low <= 5
    assert found.high is None or found.high >= 6
    disturbed = any(j.verdict == "invalid" for j in found.judged)
    if not disturbed:  # a host too busy to be measured on gives no answer, and no wrong one
        assert found.resolved
        assert (found.best, found.high) == (5, 6)
    assert cell.requests.completed == 30


def test_a_live_sweep_follows_the_law(engine):
    cells = sweep(_wish(), engine, [1, 5])
    laws = [12, 28]
    seen = [cell.tpot_ms.p50 for cell in cells]
    assert seen == sorted(seen)
    for measured, law, cell in zip(seen, laws, cells, strict=True):
        assert measured > 0.88 * law
        assert not cell.valid or measured < 1.02 * law
