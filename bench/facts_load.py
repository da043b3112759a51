"""How long do the shipped facts take? Opening the store, the newest set of every engine, all sets.

    python bench/facts_load.py

The contract is under 100 ms for opening (DESIGN 6, issue C); sets are decoded when asked for.
"""

from __future__ import annotations

import statistics
import time

from seatrial.facts import ENGINES, load

RUNS = 7


def median_ms(times: list[float]) -> float:
    """Median of seconds, in milliseconds."""
    return 1000 * statistics.median(times)


def main() -> None:
    """Print medians of seven runs; imports are not counted."""
    opened, newest, everything, facts = [], [], [], 0
    for _ in range(RUNS):
        begin = time.perf_counter()
        store = load()
        opened.append(time.perf_counter() - begin)
        for engine in ENGINES:
            len(store.engine(engine).facts)
        newest.append(time.perf_counter() - begin)
        facts = sum(
            len(store.engine(e, v).facts) for e in store.engines() for v in store.versions(e)
        )
        everything.append(time.perf_counter() - begin)
    print(f"open {median_ms(opened):.1f} ms; with nine newest sets {median_ms(newest):.1f} ms")
    print(f"all {facts} facts {median_ms(everything):.0f} ms")


if __name__ == "__main__":
    main()
