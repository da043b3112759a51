"""A run of a million requests: memory of every client process, and how soon the result is there.

    python bench/million.py [--requests 1000000] [--users 64]

Against the mock engine with short answers (three tokens). Prints the peak memory of the parent
(which reads the answers along with the run) and of the workers, the rate that was reached, and
the time from the last answer to a finished requests.parquet. Minutes long at full size.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seatrial.loadgen.body import BodyStyle, Sampling, make_body
from seatrial.loadgen.plan import Load, Target
from seatrial.loadgen.records import write_parquet
from seatrial.loadgen.run import execute, planned


def bodies(requests: int) -> Iterator[bytes]:
    style, sampling = BodyStyle(), Sampling()
    for i in range(requests):
        yield make_body("mock", [{"role": "user", "content": f"n {i}"}], 3, sampling, style)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=64)
    args = parser.parse_args()
    command = [sys.executable, "-m", "seatrial.mock", "--law", "fixed", "--ttft-ms", "1"]
    with subprocess.Popen([*command, "--itl-ms", "1"], stdout=subprocess.PIPE) as mock:
        assert mock.stdout is not None
        port = int(json.loads(mock.stdout.readline())["url"].rsplit(":", 1)[1])
        target = Target(host="127.0.0.1", port=port, path="/v1/chat/completions", route="chat")
        load = Load(mode="closed", users=args.users, connections=args.users)
        tokens = np.full(args.requests, 3, np.int64)
        plan = planned(bodies(args.requests), args.requests, output_tokens=tokens)
        run = execute(plan, target, load, seed=1)
        mock.terminate()
    ended = run.records.ints["done_ns"].max()
    with tempfile.TemporaryDirectory() as folder:
        write_parquet(run.records, Path(folder) / "requests.parquet")
        ready_s = (time.perf_counter_ns() - ended) / 1e9
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts = run.records.counts()
    print(f"{args.requests} requests: {counts}")
    print(f"rate {args.requests / run.client.wall_s:.0f} requests/s over {run.client.wall_s:.1f} s")
    print(f"memory: parent {own:.0f} MiB, worker {run.client.rss_peak_bytes / 2**20:.0f} MiB")
    print(f"from the last answer to a readable requests.parquet: {ready_s:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
