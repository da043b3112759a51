"""What does watching cost? CPU share of the sampler's thread beside a process tree and a server.

    python bench/telemetry.py [SECONDS]

The contract is under one per cent of one core at the default rates.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from seatrial.telemetry import Sampler

SECONDS = 20.0


def main() -> None:
    """Watch the mock engine for a while; print the sampler's share of one core."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    command = [sys.executable, "-m", "seatrial.mock", "--port", "0"]
    engine = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert engine.stdout is not None
        url = json.loads(engine.stdout.readline())["url"]
        with Sampler(engine.pid, url + "/metrics") as sampler:
            time.sleep(seconds)
        result = sampler.result()
        share = result.cost_s / result.span_s
        print(f"{len(result.rows)} samples, {len(result.metrics)} metric values in {seconds:.0f} s")
        print(f"sampler: {share:.2%} of one core (limit 1 %)")
    finally:
        engine.terminate()
        engine.wait()


if __name__ == "__main__":
    main()
