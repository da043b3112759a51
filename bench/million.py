"""A run of a million requests: memory of every process, and how soon the result is there.

    python bench/million.py [--requests 1000000] [--users 64] [--tokens 3]

Against the mock engine with short answers. Prints the peak memory of the parent (which reads the
answers along with the run), of each worker and of the mock, the rate that was reached, and the
time from the last answer to a written requests.parquet and to the printed result with all its
percentiles. About a quarter of an hour at full size on two cores.
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

import msgspec
import numpy as np

from seatrial.bench import summary
from seatrial.bench.client import stream_findings
from seatrial.bench.steady import steady
from seatrial.loadgen import metrics
from seatrial.loadgen.body import BodyStyle, Sampling, make_body
from seatrial.loadgen.plan import Load, Target
from seatrial.loadgen.records import Records, write_parquet
from seatrial.loadgen.run import execute, planned


def bodies(requests: int, tokens: int) -> Iterator[bytes]:
    style, sampling = BodyStyle(), Sampling()
    for i in range(requests):
        yield make_body("mock", [{"role": "user", "content": f"n {i}"}], tokens, sampling, style)


def peak_mib(pid: int) -> float | None:
    """Peak resident memory of a running process, where the system tells."""
    try:
        text = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return None
    line = next((line for line in text.splitlines() if line.startswith("VmHWM:")), None)
    return None if line is None else int(line.split()[1]) / 1024


def result(records: Records) -> dict[str, object]:
    """What a cell says of its requests."""
    kinds = (metrics.Ttft, metrics.Itl, metrics.Tpot, metrics.E2e)
    latencies = {kind.name: summary.summary(kind.values(records)) for kind in kinds}
    return {
        "requests": summary.counts(records),
        **latencies,
        **summary.more(records),
        "by_length": summary.by_length(records),
        "steady": steady(records),
        "findings": stream_findings(records),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=3)
    args = parser.parse_args()
    command = [sys.executable, "-m", "seatrial.mock", "--law", "fixed", "--ttft-ms", "1"]
    with subprocess.Popen([*command, "--itl-ms", "1"], stdout=subprocess.PIPE) as mock:
        assert mock.stdout is not None
        port = int(json.loads(mock.stdout.readline())["url"].rsplit(":", 1)[1])
        target = Target(host="127.0.0.1", port=port, path="/v1/chat/completions", route="chat")
        load = Load(mode="closed", users=args.users, connections=args.users)
        tokens = np.full(args.requests, args.tokens, np.int64)
        plan = planned(bodies(args.requests, args.tokens), args.requests, output_tokens=tokens)
        run = execute(plan, target, load, seed=1)
        mock_mib = peak_mib(mock.pid)
        mock.terminate()
    ended = run.records.ints["done_ns"].max()
    with tempfile.TemporaryDirectory() as folder:
        write_parquet(run.records, Path(folder) / "requests.parquet")
        written_s = (time.perf_counter_ns() - ended) / 1e9
        text = msgspec.json.format(msgspec.json.encode(result(run.records))).decode()
        print(text)
        printed_s = (time.perf_counter_ns() - ended) / 1e9
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    workers = [f"{report.rss_peak_bytes / 2**20:.0f}" for report in run.reports]
    print(f"{args.requests} requests of {args.tokens} tokens: {run.records.counts()}")
    print(f"rate {args.requests / run.client.wall_s:.0f} requests/s over {run.client.wall_s:.1f} s")
    print(f"peak memory in MiB: parent {own:.0f}, workers {' '.join(workers)}; mock {mock_mib:.0f}")
    print(f"from the last answer to a readable requests.parquet: {written_s:.1f} s")
    print(f"from the last answer to the printed result: {printed_s:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
