"""Lengths: distributions, their joint histogram, and how they go together.

Percentiles interpolate linearly between order statistics (type 7 of Hyndman and Fan, The
American Statistician 50, 1996; numpy's default). Standard deviations are of the population.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seatrial.trace import RequestTable
from seatrial.trace.table import Ints
from seatrial.workload.profile import Distribution, Joint

Floats = NDArray[np.float64]


def distribution(values: NDArray[np.integer] | Floats) -> Distribution | None:
    """The distribution of these values; None of none."""
    if len(values) == 0:
        return None
    low, p50, p90, p95, p99, high = np.percentile(values, [0, 50, 90, 95, 99, 100])
    return Distribution(
        n=len(values),
        mean=float(np.mean(values)),
        std=float(np.std(values)),
        min=float(low),
        p50=float(p50),
        p90=float(p90),
        p95=float(p95),
        p99=float(p99),
        max=float(high),
        sum=float(np.sum(values)),
    )


def known(column: Ints | None) -> Ints | None:
    """The values of a column that are there (-1 marks a gap); None if there are none."""
    if column is None:
        return None
    there = column[column >= 0]
    return there if len(there) else None


def joint(table: RequestTable) -> Joint | None:
    """Joint histogram over powers of two, with both correlations."""
    if table.input_tokens is None or table.output_tokens is None:
        return None
    both = (table.input_tokens >= 0) & (table.output_tokens >= 0)
    if not both.any():
        return None
    x, y = table.input_tokens[both], table.output_tokens[both]
    x_edges, y_edges = _edges(x), _edges(y)
    counts, _, _ = np.histogram2d(x, y, bins=(x_edges, y_edges))
    return Joint(
        input_edges=[int(edge) for edge in x_edges],
        output_edges=[int(edge) for edge in y_edges],
        counts=[[int(cell) for cell in row] for row in counts],
        pearson=correlation(x, y),
        spearman=correlation(ranks(x), ranks(y)),
    )


def _edges(values: Ints) -> Floats:
    top = int(values.max()).bit_length()
    return np.array([0, *(1 << k for k in range(top + 1))], dtype=np.float64)


def correlation(x: NDArray[np.generic], y: NDArray[np.generic]) -> float | None:
    """Pearson's correlation; None if one side does not vary."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x.astype(np.float64), y.astype(np.float64))[0, 1])


def ranks(values: Ints) -> Floats:
    """Ranks with ties at their mean: Pearson's correlation of them is Spearman's."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    mean_rank = ends - (counts - 1) / 2.0
    return np.asarray(mean_rank[inverse], dtype=np.float64)
