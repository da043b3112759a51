"""Known results in kind and direction: our simulated ratios beside the papers' figures.

    python bench/papers.py

The papers' figures are for their models and hardware; ours for one made-up engine (6 ms a step).
Direction is the point, not the size.
"""

from __future__ import annotations

import numpy as np

from seatrial.cli.console import Console
from seatrial.fit.cost import StepCost
from seatrial.sim import POLICIES, Limits, Load, make_load, poisson, simulate, step_loop
from seatrial.sim.cluster import LeastLoaded, simulate_cluster
from seatrial.sim.disaggregated import Split, simulate_split
from seatrial.sim.result import SimResult

COST = StepCost(step=6e-3, prefill=2.5e-5, decode=2e-5, context=2e-8)
CHUNKED = POLICIES["chunked-prefill"]


def main() -> None:
    """The table."""
    rows = [orca(), paged(), sarathi(), radix(), distserve()]
    Console().table(("result", "paper says", "here", "measure"), rows)


def orca() -> tuple[str, str, str, str]:
    """Highest rate at which the median TTFT stays below 2 s."""
    load = poisson(1500, 1.0, 300, 200, seed=3)
    longest = int((load.input + load.output).max())
    rates = {}
    for name in ("request-level", "iteration-level"):
        limits = Limits(max_seqs=64, blocks=100_000, reserve_tokens=longest)
        rates[name] = highest(
            load,
            lambda x, n=name, at=limits: np.median(simulate(x, POLICIES[n], at, COST).ttft) < 2.0,
        )
    ratio = rates["iteration-level"] / rates["request-level"]
    return (
        "iteration-level scheduling (Orca)",
        "36.9 x throughput",
        f"{ratio:.1f} x",
        "requests/s at median TTFT < 2 s",
    )


def paged() -> tuple[str, str, str, str]:
    """Requests per second in the same memory, paged against reserved."""
    load = poisson(1500, 1000.0, 300, 200, seed=3)
    longest = int((load.input + load.output).max())
    blocks = 6 * -(-longest // 16)
    spans = [
        simulate(load, CHUNKED, Limits(blocks=blocks, reserve_tokens=reserve), COST).makespan
        for reserve in (longest, 0)
    ]
    return (
        "paged cache (vLLM)",
        "2 to 4 x throughput",
        f"{spans[0] / spans[1]:.1f} x",
        "throughput in the same memory",
    )


def sarathi() -> tuple[str, str, str, str]:
    """Longest silence between two tokens of anybody."""
    load = make_load(np.cumsum(np.full(300, 0.4)), np.full(300, 4000), np.full(300, 100))
    gaps = []
    for name in ("prefill-first", "chunked-prefill"):
        limits = Limits(max_seqs=64, token_budget=512)
        steps = step_loop(load, POLICIES[name], limits, COST, keep_steps=True).timeline
        gaps.append(float(np.max(np.diff([s.ended for s in steps if s.decoding]))))
    return (
        "no generation stalls (Sarathi-Serve)",
        "2.6 to 5.6 x capacity",
        f"stall {gaps[0] * 1e3:.0f} to {gaps[1] * 1e3:.0f} ms",
        "longest pause of a decode",
    )


def radix() -> tuple[str, str, str, str]:
    """Throughput with a shared prefix of nine tenths of the prompt."""
    load = poisson(1000, 1000.0, 2, 40, seed=1)
    shared = [
        make_load(load.arrival, np.full(1000, 2000), load.output, np.full(1000, hit))
        for hit in (0, 1800)
    ]
    spans = [simulate(x, CHUNKED, Limits(max_seqs=64), COST).makespan for x in shared]
    return (
        "prefix reuse (RadixAttention)",
        "up to 6.4 x throughput",
        f"{spans[0] / spans[1]:.1f} x",
        "throughput, 90 % of the prompt shared",
    )


def distserve() -> tuple[str, str, str, str]:
    """Rate at which 99 % keep TPOT below 8 ms and 99 % TTFT below 1 s, on two replicas."""
    load = poisson(600, 1.0, 800, 60, seed=2)
    load = make_load(load.arrival, load.input, np.full(load.n, 60))  # equal answers: TPOT of a
    limits = Limits(max_seqs=64, token_budget=2048)  # two-token one is one wait for a step

    def good(result: SimResult) -> bool:
        slow = np.percentile(result.tpot, 99) >= 8e-3 or np.percentile(result.ttft, 99) >= 1.0
        return not bool(slow)

    together = highest(
        load,
        lambda x: good(
            simulate_cluster(x, CHUNKED, limits, COST, replicas=2, router=LeastLoaded())
        ),
    )
    apart = highest(
        load,
        lambda x: good(simulate_split(x, CHUNKED, limits, COST, Split(prefill=1, decode=1))),
    )
    return (
        "prefill and decode apart (DistServe)",
        "7.4 x requests or 12.6 x tighter SLO",
        f"{apart / max(together, 1e-9):.1f} x",
        "requests/s at TPOT p99 < 8 ms and TTFT p99 < 1 s",
    )


def highest(load: Load, held: object) -> float:
    """Highest rate scale that holds, by bisection between 0.05 and 200."""
    low, high = 0.05, 200.0
    for _ in range(12):
        middle = float(np.sqrt(low * high))
        if held(load.scaled(middle)):  # type: ignore[operator]
            low = middle
        else:
            high = middle
    return low


if __name__ == "__main__":
    main()
