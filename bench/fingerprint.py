"""How fast fingerprints are, beside DuckDB's bare scan and what pandas needs for the same.

Three workloads, each in a process of its own so that memory is told apart: Azure-shaped rows as
CSV and as Parquet (generated into FOLDER, 50 million by default), Mooncake-shaped prefix blocks
with the whole LRU curve (10 million), and the archive of 87 Claude Code sessions. The limits of the
issue stand beside the figures; nothing is asserted.

    python bench/fingerprint.py FOLDER [--rows 50000000] [--blocks 10000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ARCHIVE = ROOT / "tests" / "data" / "traces" / "claude-code-traces-sample87.tar.xz"
HOUR_S = 3600


def generate(folder: Path, rows: int) -> dict[str, Path]:
    """Azure-shaped rows in CSV and Parquet: jittered arrivals, long-tailed lengths."""
    import duckdb

    paths = {kind: folder / f"azure-{rows}.{kind}" for kind in ("csv", "parquet")}
    select = (
        "select make_timestamp_ns(1700000000000000000 + i * 170000000 + "
        '(hash(i) % 100000000)::bigint) as "TIMESTAMP", '
        '(2 + exp(4 + 4.5 * (hash(i * 7) % 100000) / 100000.0))::bigint as "ContextTokens", '
        '(1 + exp(2 + 4.5 * (hash(i * 13) % 100000) / 100000.0))::bigint as "GeneratedTokens" '
        f"from range({rows}) t(i)"
    )
    for kind, path in paths.items():
        if not path.exists():
            how = "format parquet" if kind == "parquet" else "header, delimiter ','"
            with duckdb.connect() as db:
                db.execute(f"copy ({select}) to '{path}.part' ({how})")
            Path(f"{path}.part").rename(path)
    return paths


def bare(path: Path) -> dict[str, float]:
    """DuckDB reads the same columns: count, range of times, quantiles of lengths."""
    import duckdb

    reader = "read_parquet" if path.suffix == ".parquet" else "read_csv"
    shares = "[0.5, 0.9, 0.95, 0.99]"
    with duckdb.connect() as db:
        found = db.execute(
            f"select count(*), min(TIMESTAMP), max(TIMESTAMP), "
            f"quantile_cont(ContextTokens, {shares}), quantile_cont(GeneratedTokens, {shares}) "
            f"from {reader}('{path}')"
        ).fetchone()
    assert found is not None
    return {"rows": found[0]}


def ours(path: Path) -> dict[str, float]:
    """The whole fingerprint out of core."""
    from seatrial.workload.profiling import profile

    return {"rows": profile(path, out_of_core=True).requests}


def with_pandas(path: Path) -> dict[str, float]:
    """A part of the same job (lengths, rate per minute, gaps) in pandas, if it is installed."""
    import pandas as pd  # type: ignore[import-not-found,unused-ignore]

    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    frame["TIMESTAMP"] = pd.to_datetime(frame["TIMESTAMP"], format="ISO8601")
    frame[["ContextTokens", "GeneratedTokens"]].quantile([0.5, 0.9, 0.95, 0.99])
    frame[["ContextTokens", "GeneratedTokens"]].corr()
    times = frame["TIMESTAMP"].sort_values()
    times.diff().quantile([0.5, 0.99])
    times.dt.floor("min").value_counts()
    return {"rows": len(frame)}


def blocks(number: int) -> dict[str, float]:
    """Prefix blocks of a growing tree, and the LRU curve of every capacity; both passes."""
    import numpy as np

    from seatrial.trace.table import Blocks
    from seatrial.workload.stack import hit_capacities_plain
    from seatrial.workload.stack_fast import hit_capacities_fast

    random = np.random.default_rng(1)
    sizes = random.integers(1, 60, number // 30 + 1)
    tree = random.zipf(1.2, len(sizes)) % 50_000
    depth = random.integers(0, 50, len(sizes))
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    shared = inside < np.repeat(depth, sizes)
    own = 64 * 50_000 + np.arange(offsets[-1])
    ids = np.where(shared, np.repeat(tree, sizes) * 64 + inside, own)
    trace = Blocks(offsets, np.unique(ids, return_inverse=True)[1].reshape(-1), 512)
    count = int(trace.hashes.max()) + 1
    few = offsets[:1001]
    hit_capacities_fast(few, trace.hashes[: few[-1]], count)  # compiled before the clock runs
    started = time.perf_counter()
    fast = hit_capacities_fast(offsets, trace.hashes, count)
    took = time.perf_counter() - started
    part = offsets[: len(offsets) // 20]
    started = time.perf_counter()
    plain = hit_capacities_plain(part, trace.hashes[: part[-1]], count)
    slow = time.perf_counter() - started
    assert (fast[: part[-1]] == plain).all()
    return {
        "blocks": len(ids),
        "blocks_per_s": len(ids) / took,
        "plain_blocks_per_s": part[-1] / slow,
    }


def sessions(_: int) -> dict[str, float]:
    """The 87 sessions, read and fingerprinted."""
    from seatrial.workload.profiling import profile

    return {"rows": profile(ARCHIVE).requests}


JOBS = {
    "bare": bare,
    "ours": ours,
    "pandas": with_pandas,
    "blocks": blocks,
    "sessions": sessions,
}


def child(job: str, argument: str) -> None:
    """One job in this process; prints one line of JSON."""
    started = time.perf_counter()
    try:
        value = JOBS[job](int(argument) if argument.isdigit() else Path(argument))  # type: ignore[operator]
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    out = {
        **{key: float(number) for key, number in value.items()},
        "s": time.perf_counter() - started,
        "cpu_s": sum(os.times()[:2]),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(out))


def measure(
    job: str, argument: str, *, runs: int = 2, python: str = sys.executable
) -> dict[str, float]:
    """The job in fresh processes; the fastest run (files are in the page cache then)."""
    found = []
    for _ in range(runs):
        done = subprocess.run(
            [python, __file__, "--child", job, argument],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return {"failed": float(done.returncode)}
        found.append(json.loads(done.stdout.splitlines()[-1]))
        if "missing" in found[-1]:
            return dict(found[-1])
    return dict(min(found, key=lambda run: run["s"]))


def main() -> None:
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(".demo/bench"))
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--blocks", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pandas", default=sys.executable, help="a Python that has pandas")
    parser.add_argument("--child", nargs=2, metavar=("JOB", "ARGUMENT"))
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    paths = generate(options.folder, options.rows)
    results: dict[str, dict[str, float]] = {}
    for kind, path in paths.items():
        for job in ("bare", "ours"):
            results[f"{kind}/{job}"] = measure(job, str(path))
        results[f"{kind}/pandas"] = measure("pandas", str(path), runs=1, python=options.pandas)
    results["blocks"] = measure("blocks", str(options.blocks))
    results["sessions"] = measure("sessions", "0")
    print(f"{platform.machine()}, {os.cpu_count()} cores, {options.rows:,} rows")
    for name, result in results.items():
        print(
            f"{name:<16}",
            "  ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                for key, value in result.items()
            ),
        )
    for kind in paths:
        ratio = results[f"{kind}/ours"].get("s", 0) / results[f"{kind}/bare"].get("s", 1)
        print(
            f"{kind}: {ratio:.2f} x DuckDB's bare scan and quantiles (limit 3), "
            f"{results[f'{kind}/ours'].get('peak_mib', 0):.0f} MiB (limit 2048)"
        )
    print("limits: 2,000,000 blocks per s and core; sessions 6 s")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
