"""Results of queueing theory that the simulator must reproduce (tests) and that explain it.

Units: rates per second, times in seconds.
"""

from __future__ import annotations

import math


def erlang_c(servers: int, offered: float) -> float:
    """Probability that a customer waits in M/M/k with offered load a = rate * service < k.

    Erlang's second formula (1917), by the stable recursion of Erlang B.
    """
    if not 0 <= offered < servers:
        raise ValueError(f"offered load {offered} of {servers} servers")
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return servers * blocked / (servers - offered * (1 - blocked))


def mmk_wait(servers: int, rate: float, service_s: float) -> float:
    """Mean time in queue of M/M/k."""
    offered = rate * service_s
    return erlang_c(servers, offered) * service_s / (servers - offered)


def ps_response(rate: float, service_s: float) -> float:
    """Mean response time of M/G/1 under processor sharing: E[S] / (1 - load).

    It depends on the service time's mean only (Kleinrock, Queueing Systems II, 1976, 4.4).
    """
    load = rate * service_s
    if not 0 <= load < 1:
        raise ValueError(f"load {load}")
    return service_s / (1 - load)


def little(rate: float, response_s: float) -> float:
    """Mean number in the system, L = rate * W (Little, Operations Research 9, 1961)."""
    if rate < 0 or not math.isfinite(response_s):
        raise ValueError("a rate and a finite time")
    return rate * response_s
