"""How much does a sweep over an engine's releases cost? Transfer, requests and seconds.

    python bench/facts_sweep.py                 21 vLLM releases and 3 of SGLang, cold cache
    python bench/facts_sweep.py --versions 2    the first two alone

It reads the package index this machine is set up for; three small tables a release. The counts
are checked against those of an independent reading (tests/unit/facts/test_snapshot.py).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from seatrial.facts.reach.index import Index
from seatrial.facts.sweep import counts

VLLM = """0.8.5 0.9.2 0.10.2 0.11.2 0.13.0 0.15.1 0.17.1 0.19.1 0.20.2 0.21.0 0.22.1 0.23.0
0.24.0 0.25.1 0.26.0 0.27.1 0.28.0 0.29.0 0.30.0 0.31.0 0.33.0"""
SGLANG = """0.5.9 0.5.15 0.5.23"""


def main() -> None:
    """Sweep with an empty cache and print a line per release and the sum."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--versions", type=int, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for engine, versions in (("vllm", VLLM.split()), ("sglang", SGLANG.split())):
            index = Index(cache=Path(folder))
            index.client  # noqa: B018  asks pip for the index before the clock starts
            begin = time.perf_counter()
            for version in versions[: options.versions]:
                found = counts(engine, version, index, cache=Path(folder))
                print(engine, version, found)
            seconds = time.perf_counter() - begin
            client = index.client
            print(
                f"{engine}: {client.requests} requests, {client.bytes_in / 1e6:.2f} MB, "
                f"{seconds:.1f} s"
            )


if __name__ == "__main__":
    main()
