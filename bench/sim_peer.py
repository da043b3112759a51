"""Time vllm-sr-sim (one event per request, no iterations) on a load; runs in its own environment.

    PEER_PYTHON bench/sim_peer.py LOAD.npz [GPUS]

LOAD.npz holds arrival, input, output. Prints requests per CPU second of its event loop.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from fleet_sim.core.fleet import Fleet, FleetConfig, PoolConfig
from fleet_sim.core.request import Request
from fleet_sim.gpu_profiles.profiles import A100_80GB


def main() -> None:
    """Load, run, print."""
    load = np.load(sys.argv[1])
    gpus = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    columns = [load[name].tolist() for name in ("arrival", "input", "output")]
    arrivals = [
        (at, Request(req_id=i, arrival_time=at, l_in=n_in, l_out=n_out))
        for i, (at, n_in, n_out) in enumerate(zip(*columns, strict=True))
    ]
    pool = PoolConfig(pool_id="all", gpu=A100_80GB, n_gpus=gpus, max_ctx=32_768)
    config = FleetConfig(pools=[pool])
    started = time.process_time()
    result = Fleet(config).run(arrivals)
    seconds = time.process_time() - started
    done = len(result.completed)
    print(
        f"vllm-sr-sim, {gpus} GPUs: {done} of {len(arrivals)} requests in {seconds:.1f} CPU s, "
        f"{done / seconds:,.0f}/s"
    )


if __name__ == "__main__":
    main()
