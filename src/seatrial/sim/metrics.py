"""The figures that predictions are held to, computed alike from measured and simulated times.

Eight over all requests, and six over parts of them: TTFT of short, middle and long prompts, E2E of
short, middle and long answers (thirds of the cell's own requests). A tail can be right for the
wrong requests; the parts show it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from seatrial.fit.observe import Observed
from seatrial.sim.result import SimResult

Floats = NDArray[np.float64]
METRICS = (
    "ttft_ms.p50",
    "ttft_ms.p99",
    "tpot_ms.mean",
    "tpot_ms.p50",
    "tpot_ms.p99",
    "e2e_ms.p50",
    "e2e_ms.p99",
    "output_tokens_per_s",
)
THIRDS = ("short", "middle", "long")
PARTS = tuple(
    f"{metric} {third} {what}"
    for metric, what in (("ttft_ms.p50", "prompts"), ("e2e_ms.p50", "answers"))
    for third in THIRDS
)
_FEWEST = 9  # requests, three in each third


def of_observed(cell: Observed) -> dict[str, float]:
    """Metric -> value, as the cell's requests have it (ms, tokens per second)."""
    return _metrics(cell.arrival, cell.first, cell.last, cell.input, cell.output)


def of_result(result: SimResult, *, overhead: float = 0.0) -> dict[str, float]:
    """The same of a simulation; ``overhead`` seconds pass beside the engine's steps."""
    load = result.load
    first, last = result.first_token + overhead, result.finish + overhead
    return _metrics(load.arrival, first, last, load.input, load.output)


def _metrics(
    arrival: Floats,
    first: Floats,
    last: Floats,
    length: NDArray[np.int64],
    output: NDArray[np.int64],
) -> dict[str, float]:
    """NaN where there is nothing to take a percentile of."""
    ttft, e2e = (first - arrival) * 1e3, (last - arrival) * 1e3
    several = output > 1
    tpot = (last - first)[several] / (output[several] - 1) * 1e3
    found = {f"ttft_ms.p{p}": float(np.percentile(ttft, p)) for p in (50, 99)}
    found["tpot_ms.mean"] = float(tpot.mean()) if tpot.size else math.nan
    for p in (50, 99):
        found[f"tpot_ms.p{p}"] = float(np.percentile(tpot, p)) if tpot.size else math.nan
        found[f"e2e_ms.p{p}"] = float(np.percentile(e2e, p))
    span = float(last.max() - arrival.min())
    found["output_tokens_per_s"] = float(output.sum()) / span if span > 0 else math.nan
    if arrival.size >= _FEWEST:
        for name, values, by in (("ttft_ms.p50", ttft, length), ("e2e_ms.p50", e2e, output)):
            what = "prompts" if name.startswith("ttft") else "answers"
            order = np.argsort(by, kind="stable")
            for third, part in zip(THIRDS, np.array_split(order, 3), strict=True):
                found[f"{name} {third} {what}"] = float(np.median(values[part]))
    return found
