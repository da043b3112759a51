"""Replicas behind a router.

A router chooses for each request when it comes, from what it can see: how many requests each
replica has, and which prefix went where. It knows no output lengths. Round-robin needs no look at
the replicas; least-loaded takes the one with fewest unfinished requests; prefix-aware sends a
prefix where it went before, unless that replica has ``imbalance`` requests more than the least.
"""

from __future__ import annotations

from typing import Protocol

from seatrial.core.errors import UsageError
from seatrial.fit.cost import StepCost
from seatrial.sim.check import check
from seatrial.sim.load import Ints, Load
from seatrial.sim.policy import Limits, Policy
from seatrial.sim.result import SimResult
from seatrial.sim.steps import Engine, gathered, request_of


class Router(Protocol):
    """Chooses a replica for each request as it comes."""

    def choose(self, number: int, engines: list[Engine]) -> int:
        """Index of the replica for request ``number``."""


class RoundRobin:
    """One after the other."""

    def choose(self, number: int, engines: list[Engine]) -> int:
        """Request i to replica i modulo their number."""
        return number % len(engines)


class LeastLoaded:
    """Fewest unfinished requests; the first of equals."""

    def choose(self, number: int, engines: list[Engine]) -> int:
        """The least loaded replica at this moment."""
        return min(range(len(engines)), key=lambda i: (engines[i].load, i))


class PrefixAware:
    """The replica that saw the prefix last, unless it is much busier than the least loaded.

    Args:
        prefixes: one number per request: equal numbers share a prefix.
        imbalance: how many requests more it may have.
    """

    def __init__(self, prefixes: Ints, *, imbalance: int = 8) -> None:
        self._prefixes = prefixes
        self._imbalance = imbalance
        self._home: dict[int, int] = {}

    def choose(self, number: int, engines: list[Engine]) -> int:
        """The prefix's home, or the least loaded replica, which becomes it."""
        least = LeastLoaded().choose(number, engines)
        home = self._home.get(int(self._prefixes[number]), least)
        if engines[home].load > engines[least].load + self._imbalance:
            home = least
        self._home[int(self._prefixes[number])] = home
        return home


def simulate_cluster(
    load: Load,
    policy: Policy,
    limits: Limits,
    cost: StepCost,
    *,
    replicas: int,
    router: Router,
) -> SimResult:
    """Simulate ``replicas`` equal engines behind ``router``.

    Raises:
        UsageError: no replica, or a request that could never be served.
    """
    if replicas < 1:
        raise UsageError("a cluster needs a replica", remedy="give at least one")
    check(load, policy, limits)
    engines = [Engine(policy, limits, cost) for _ in range(replicas)]
    for number in range(load.n):
        request = request_of(load, number)
        for engine in engines:
            engine.run(until=request.at)
        engines[router.choose(number, engines)].push(request)
    for engine in engines:
        engine.run()
    return gathered(load, engines, f"{policy.name} x {replicas}")
