"""The goodput search on servers whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from seatrial.bench.search import Probe, search


def server(limit: float, n: int = 400, soft: float = 0.02):
    """Requests meet the SLO with probability 0.999 below ``limit`` and ever less above it."""
    draws = np.random.default_rng(7)

    def probe(load: float, _number: int) -> Probe:
        share = 0.999 if load <= limit else max(0.0, 0.999 - (load / limit - 1) / soft * 0.06)
        return Probe(load=load, good=int(draws.binomial(n, share)), n=n)

    return probe


@pytest.mark.parametrize("limit", [0.7, 3.0, 11.0, 130.0])
def test_the_limit_lies_in_the_interval_and_it_is_narrow(limit):
    found = search(server(limit), start=4.0, target=0.95)
    assert found.resolved
    assert found.low <= 1.02 * limit
    assert found.high >= limit
    assert found.high / found.low <= 1.1 + 1e-9


def test_concurrency_is_whole():
    found = search(server(6.0), start=1, target=0.95, whole=True)
    assert (found.best, found.high) == (6.0, 7.0)
    assert found.resolved


def test_no_load_that_passes_is_said():
    found = search(lambda load, _: Probe(load=load, good=0, n=100), start=8, target=0.9)
    assert found.best is None
    assert not found.resolved
    assert "no load" in found.because


def test_a_client_at_its_limit_is_not_the_servers_limit():
    def probe(load, _number):
        if load > 10:
            return Probe(load=load, good=0, n=0, invalid=["requests left 30 ms late"])
        return Probe(load=load, good=500, n=500)

    found = search(probe, start=4, target=0.95)
    assert found.low is not None
    assert found.low <= 10
    assert found.high is None
    assert not found.resolved
    assert "client" in found.because


def test_a_share_at_the_target_stays_open_and_is_not_resolved():
    draws = np.random.default_rng(3)

    def probe(load, _number):
        share = 0.999 if load < 4 else (0.95 if load < 8 else 0.5)
        return Probe(load=load, good=int(draws.binomial(40, share)), n=40)

    found = search(probe, start=4, target=0.95)
    assert not found.resolved
    assert any(j.verdict == "open" and j.repeats == 3 for j in found.judged)


def test_probes_are_bounded():
    calls = []
    search(lambda load, n: calls.append(n) or Probe(load=load, good=1, n=1), start=1.0, target=0.5)
    assert len(calls) <= 24
    assert calls == sorted(set(calls))
