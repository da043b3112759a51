"""How far the predictions are off, on loads the fit did not see.

For each load in turn: fit the cost law on the cells of the other loads, simulate this one, and put
predicted beside measured. With one load only, a start is left out instead of a load, which tests
less and is said. The interval of a prediction comes from how far the law was off on the cells it
was fitted to (Student's t on the logarithm of measured / predicted, as for a future observation:
Hahn and Meeker, Statistical Intervals, 1991, section 4.8); whether it covers is counted.
"""

from __future__ import annotations

import math
from collections import defaultdict

import msgspec
import numpy as np

from seatrial.core.errors import MeasurementInvalid
from seatrial.fit.observe import Observed
from seatrial.fit.regress import Fit, fit
from seatrial.fit.steps import step_table
from seatrial.sim.cells import Measured, load_of
from seatrial.sim.fast import simulate
from seatrial.stats.interval import Interval, proportion_interval
from seatrial.stats.mean import t_quantile

SCHEMA = "seatrial/sim-validate/1"
CONFIDENCE = 0.90
METRICS = (
    "ttft_ms.p50",
    "ttft_ms.p99",
    "tpot_ms.mean",
    "e2e_ms.p50",
    "e2e_ms.p99",
    "output_tokens_per_s",
)


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one cell: predicted with its interval, measured, and their distance.

    ``error`` is predicted / measured - 1; ``covered`` is None where there is no interval.
    """

    candidate: str
    cell: str
    load: str
    metric: str
    predicted: float
    low: float | None
    high: float | None
    measured: float
    error: float
    covered: bool | None


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """The errors, per metric and over all; ``left_out``: what was held back from each fit."""

    schema: str
    held_back: str
    compared: list[Compared]
    median_abs_error: dict[str, float]
    coverage: Interval | None
    fits: dict[str, Fit]
    not_simulated: list[str]
    says: str


def validate(cells: list[Measured], *, not_simulated: list[str] | None = None) -> Validation:
    """Leave one load (or one start) out, per candidate.

    Raises:
        MeasurementInvalid: no candidate has two cells.
    """
    by_candidate: dict[str, list[Measured]] = defaultdict(list)
    for cell in cells:
        by_candidate[cell.candidate].append(cell)
    compared: list[Compared] = []
    fits: dict[str, Fit] = {}
    several = {c: len({m.observed.load for m in group}) > 1 for c, group in by_candidate.items()}
    for candidate, group in by_candidate.items():
        if len(group) < 2:
            continue
        fits[candidate] = fit_cells(group, draws=200)
        for held in group:
            rest = [
                m
                for m in group
                if (m.observed.load != held.observed.load if several[candidate] else m is not held)
            ]
            compared += _compare(held, rest)
    if not compared:
        raise MeasurementInvalid(
            "no candidate has two valid cells: there is nothing to hold back",
            unchanged="the trial",
            remedy="measure at least two starts, better two loads, of a candidate",
        )
    held_back = "load" if all(several[c] for c in fits) else "start"
    return _report(compared, fits, held_back, not_simulated or [])


def fit_cells(cells: list[Measured], *, draws: int = 0) -> Fit:
    """The cost law of one candidate's cells; ``draws`` of the bootstrap, 0 for no intervals."""
    tables = {m.observed.name: step_table(m.observed, max_seqs=m.limits.max_seqs) for m in cells}
    return fit(tables, draws=draws)


def measured_metrics(cell: Observed) -> dict[str, float]:
    """The metrics of ``METRICS`` as the cell's requests have them."""
    ttft, e2e = cell.first - cell.arrival, cell.last - cell.arrival
    long = cell.output > 1
    tpot = (cell.last[long] - cell.first[long]) / (cell.output[long] - 1)
    span = float(cell.last.max() - cell.arrival.min())
    return {
        "ttft_ms.p50": float(np.percentile(ttft, 50) * 1e3),
        "ttft_ms.p99": float(np.percentile(ttft, 99) * 1e3),
        "tpot_ms.mean": float(tpot.mean() * 1e3) if tpot.size else math.nan,
        "e2e_ms.p50": float(np.percentile(e2e, 50) * 1e3),
        "e2e_ms.p99": float(np.percentile(e2e, 99) * 1e3),
        "output_tokens_per_s": float(cell.output.sum()) / span,
    }


def predicted_metrics(cell: Measured, law: Fit) -> dict[str, float]:
    """The same metrics, simulated under ``law``."""
    load = load_of(cell.observed)
    result = simulate(load, cell.policy, cell.limits, law.cost).predicted()
    span = result.makespan_s - float(load.arrival.min())
    return {
        "ttft_ms.p50": result.ttft_ms["p50"],
        "ttft_ms.p99": result.ttft_ms["p99"],
        "tpot_ms.mean": result.tpot_ms.get("mean", math.nan),
        "e2e_ms.p50": result.e2e_ms["p50"],
        "e2e_ms.p99": result.e2e_ms["p99"],
        "output_tokens_per_s": float(load.output.sum()) / span,
    }


def log_errors(cells: list[Measured], law: Fit) -> dict[str, list[float]]:
    """Metric -> ln(measured / predicted) of each cell."""
    found: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        predicted, measured = predicted_metrics(cell, law), measured_metrics(cell.observed)
        for metric in METRICS:
            if measured[metric] > 0 and predicted[metric] > 0:
                found[metric].append(math.log(measured[metric] / predicted[metric]))
    return found


def future_interval(logs: list[float]) -> tuple[float, float] | None:
    """Factors (low, high) on a prediction that hold a future cell; None with one cell."""
    n = len(logs)
    if n < 2:
        return None
    mean, sd = float(np.mean(logs)), float(np.std(logs, ddof=1))
    half = float(t_quantile(n - 1, (1 + CONFIDENCE) / 2)) * sd * math.sqrt(1 + 1 / n)
    return math.exp(mean - half), math.exp(mean + half)


def _compare(held: Measured, rest: list[Measured]) -> list[Compared]:
    law = fit_cells(rest)
    logs = log_errors(rest, law)
    predicted, measured = predicted_metrics(held, law), measured_metrics(held.observed)
    found = []
    for metric in METRICS:
        if not (measured[metric] > 0 and math.isfinite(predicted[metric])):
            continue
        factors = future_interval(logs[metric])
        low, high = (predicted[metric] * f for f in factors) if factors else (None, None)
        covered = None
        if low is not None and high is not None:
            covered = low <= measured[metric] <= high
        found.append(
            Compared(
                candidate=held.candidate,
                cell=held.observed.name,
                load=held.observed.load[:12],
                metric=metric,
                predicted=predicted[metric],
                low=low,
                high=high,
                measured=measured[metric],
                error=predicted[metric] / measured[metric] - 1,
                covered=covered,
            )
        )
    return found


def _report(
    compared: list[Compared], fits: dict[str, Fit], held_back: str, not_simulated: list[str]
) -> Validation:
    errors: dict[str, list[float]] = defaultdict(list)
    for row in compared:
        errors[row.metric].append(abs(row.error))
    median = {metric: float(np.median(values)) for metric, values in errors.items()}
    judged = [row.covered for row in compared if row.covered is not None]
    coverage = proportion_interval(sum(judged), len(judged)) if judged else None
    text = ", ".join(f"{metric} {value:.0%}" for metric, value in median.items())
    says = f"each {held_back} predicted from the others; median absolute error: {text}"
    if held_back == "start":
        says += "; one load only: this says nothing about another load"
    if coverage is None:
        says += "; no intervals: they need two cells in each fit"
    return Validation(
        schema=SCHEMA,
        held_back=held_back,
        compared=compared,
        median_abs_error=median,
        coverage=coverage,
        fits=fits,
        not_simulated=not_simulated,
        says=says,
    )
