"""How much seatrial weighs and how fast it answers: a fresh install without extras.

    python bench/footprint.py WORKDIR

Makes a virtual environment in WORKDIR, installs this checkout without extras, and prints its size
(as ``du`` counts it) and the median wall time of ``seatrial --help`` over eleven runs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 11


def install(place: Path) -> None:
    """A fresh environment with seatrial and its core dependencies."""
    venv.create(place, with_pip=True, clear=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run(
        [*pip, "-c", str(ROOT / "constraints.txt"), str(ROOT)],
        check=True,
        stderr=subprocess.DEVNULL,
    )


def size_mb(place: Path) -> float:
    """Megabytes on disk, every file counted in whole blocks as ``du`` does."""
    blocks = sum(p.lstat().st_blocks for p in place.rglob("*"))
    return blocks * 512 / 1e6


def help_seconds(place: Path) -> list[float]:
    """Wall times of ``seatrial --help``, the first (cold) run left out."""
    times = []
    for _ in range(RUNS + 1):
        begin = time.perf_counter()
        subprocess.run([place / "bin" / "seatrial", "--help"], check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return times[1:]


def main() -> None:
    """Install, measure, print."""
    place = Path(sys.argv[1]) / "fresh-venv"
    install(place)
    times = help_seconds(place)
    print(f"fresh install without extras: {size_mb(place):.0f} MB (limit 400)")
    print(
        f"seatrial --help: median {statistics.median(times):.3f} s of {len(times)} runs, "
        f"{min(times):.3f} to {max(times):.3f} (limit 0.3)"
    )


if __name__ == "__main__":
    main()
