"""Simulated requests per CPU second: our loops side by side, and equal results.

    python bench/sim.py [--requests N] [--peer PYTHON]

PYTHON is an interpreter with vllm-sr-sim installed (python -m venv X; X/bin/pip install --pre
vllm-sr-sim): it is then timed on the same requests, side by side (bench/sim_peer.py).

The load is the one on which other simulators were timed on such a machine (Poisson, mean 1155
input and 211 output tokens; published beside it: Vidur 915 to 1277 requests per CPU second, BLIS
857, vllm-sr-sim 11100 with one event per request). One process, CPU time, compile time apart. The
engine is loaded to about 70 per cent; an overloaded one has fewer, larger steps.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from seatrial.fit.cost import StepCost
from seatrial.sim.fast import Run, compiled, jump_loop
from seatrial.sim.load import poisson
from seatrial.sim.policies import POLICIES
from seatrial.sim.policy import Limits
from seatrial.sim.steps import step_loop

COST = StepCost(step=6e-3, prefill=2.5e-5, decode=2e-5, context=2e-8, attention=1e-9)
LIMITS = Limits(max_seqs=256, token_budget=2048, blocks=27_000, block_tokens=16)
RATE = 7.0
POLICIES_TIMED = ("chunked-prefill", "prefill-first", "iteration-level")
VIDUR_BEST = 1277


def cpu(work: object) -> float:
    """CPU seconds of a call."""
    started = time.process_time()
    work()  # type: ignore[operator]
    return time.process_time() - started


def main() -> None:
    """Time, compare, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--peer", type=Path)
    asked = parser.parse_args()
    n = asked.requests
    small = poisson(min(n // 10, 2000), RATE, 1155, 211, seed=1)
    kind = "numba" if compiled() else "plain Python (extra fast is not installed)"
    print(f"fast loop: {kind}")
    for name in POLICIES_TIMED:
        policy = POLICIES[name]
        jump_loop(small, policy, LIMITS, COST)  # compile
        slow_s = cpu(lambda p=policy: step_loop(small, p, LIMITS, COST))
        fast, slow = jump_loop(small, policy, LIMITS, COST), step_loop(small, policy, LIMITS, COST)
        gap = float(np.max(np.abs(fast.finish - slow.finish) / slow.finish))

        def whole(p: object = policy) -> None:
            run = Run(p, LIMITS, COST)  # type: ignore[arg-type]
            pieces = (poisson_piece(i, n) for i in range(-(-n // 50_000)))
            done = sum(number.size for number, *_ in run.pieces(pieces))
            assert done == n

        seconds = cpu(whole)
        feeding = cpu(lambda: [poisson_piece(i, n) for i in range(-(-n // 50_000))])
        rate = n / (seconds - feeding)
        print(
            f"{name:16} step loop {small.n / slow_s:9,.0f}/s   fast {rate:11,.0f}/s   "
            f"{rate / VIDUR_BEST:6.0f} x Vidur   {n:,} requests in {seconds:.1f} CPU s   "
            f"largest relative difference {gap:.1e}"
        )
    if asked.peer:
        peer(asked.peer, min(n, 100_000))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MiB (one piece of the trace and the queue at a time)")


def peer(python: Path, n: int) -> None:
    """vllm-sr-sim on the same requests, for a fleet that is loaded like our engine."""
    load = poisson(n, RATE * 12, 1155, 211, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "load.npz"
        np.savez(file, arrival=load.arrival, input=load.input, output=load.output)
        here = Path(__file__).with_name("sim_peer.py")
        subprocess.run([str(python), str(here), str(file), "24"], check=True)


def poisson_piece(index: int, n: int) -> object:
    """The index-th piece of 50,000 requests, made when it is asked for."""
    size = min(50_000, n - index * 50_000)
    load = poisson(size, RATE, 1155, 211, seed=100 + index)
    start = index * 50_000 / RATE * 1.02  # pieces follow each other without overlap
    return type(load)(load.arrival + start, load.input, load.output, load.cached)


if __name__ == "__main__":
    main()
