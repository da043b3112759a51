"""How far the predictions are off, on loads the fit did not see.

For each load in turn: fit the cost law on the cells of the other loads, simulate this one, and put
predicted beside measured. With one load only, a start is left out instead of a load, which tests
less and is said. Intervals come from ``sim.calibrate``: again from errors on loads left out, within
the cells that were fitted, so that nothing of the held-back load is in its own interval.

Whether 90 % intervals hold is counted twice. Over all judged figures, with the exact binomial
interval; and by cell, because the figures of one cell err together: the sample size is deflated to
what the spread of coverage between cells says (Korn and Graubard, Survey Methodology 24, 1998).
"""

from __future__ import annotations

import math
from collections import defaultdict

import msgspec
import numpy as np

from seatrial.core.errors import MeasurementInvalid
from seatrial.fit.regress import Fit, fit
from seatrial.fit.steps import step_table
from seatrial.sim.calibrate import Calibration, calibrate, foresee
from seatrial.sim.cells import Measured
from seatrial.sim.metrics import METRICS, PARTS, of_observed
from seatrial.stats.interval import Interval, proportion_interval

SCHEMA = "seatrial/sim-validate/1"


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
    """The errors, per metric and over all.

    Attributes:
        held_back: what was left out of each fit, ``load`` or ``start``.
        median_abs_error: metric -> median of |error| over cells, no unit.
        coverage: share of 90 % intervals that hold, over all judged figures.
        coverage_by_cell: the same share; figures of one cell count as what they are, dependent.
    """

    schema: str
    held_back: str
    compared: list[Compared]
    median_abs_error: dict[str, float]
    coverage: Interval | None
    coverage_by_cell: Interval | None
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
        compared += _held_back(group, by_load=several[candidate])
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


def compare(held: Measured, known: Calibration, *, alike: bool) -> list[Compared]:
    """One cell beside its prediction under ``known``, which must not rest on it."""
    foreseen, measured = foresee(held, known.law), of_observed(held.observed)
    found = []
    for metric in (*METRICS, *PARTS):
        told, real = foreseen.value.get(metric, math.nan), measured.get(metric, math.nan)
        if not (real > 0 and told > 0):
            continue
        span = known.interval(metric, foreseen, alike=alike)
        found.append(
            Compared(
                candidate=held.candidate,
                cell=held.observed.name,
                load=held.observed.load[:12],
                metric=metric,
                predicted=told,
                low=span[0] if span else None,
                high=span[1] if span else None,
                measured=real,
                error=told / real - 1,
                covered=span[0] <= real <= span[1] if span else None,
            )
        )
    return found


def coverage_by_cell(compared: list[Compared]) -> Interval | None:
    """Coverage with the sample size deflated to the spread between cells; None below 2 cells."""
    by_cell: dict[str, list[bool]] = defaultdict(list)
    for row in compared:
        if row.covered is not None:
            by_cell[row.cell].append(row.covered)
    if len(by_cell) < 2:
        return None
    sizes = np.array([len(v) for v in by_cell.values()], dtype=np.float64)
    hits = np.array([sum(v) for v in by_cell.values()], dtype=np.float64)
    share, cells, n = float(hits.sum() / sizes.sum()), sizes.size, float(sizes.sum())
    # linearised variance of a ratio of cluster totals (Cochran, Sampling Techniques, 1977, 11.3)
    variance = float(((hits - share * sizes) ** 2).sum()) * cells / (cells - 1) / n**2
    effective = min(share * (1 - share) / variance, n) if variance > 0 else float(cells)
    effective = max(effective, 1.0)
    low, high = _exact(share * effective, effective)
    return Interval(
        low=low,
        best=share,
        high=high,
        n=math.floor(effective),
        confidence=0.95,
        method="clopper-pearson, effective n over cells (Korn-Graubard)",
    )


def _exact(k: float, n: float) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval for a k and n that need not be whole."""
    from scipy.special import betaincinv

    low = 0.0 if k <= 0 else float(betaincinv(k, n - k + 1, 0.025))
    high = 1.0 if k >= n else float(betaincinv(k + 1, n - k, 0.975))
    return low, high


def _held_back(group: list[Measured], *, by_load: bool) -> list[Compared]:
    """Each load (or start) predicted by the rest; the rest is calibrated once per load."""
    found: list[Compared] = []
    kept: dict[str, Calibration] = {}
    for held in group:
        out = held.observed.load if by_load else held.observed.name
        if out not in kept:
            rest = [m for m in group if (m.observed.load if by_load else m.observed.name) != out]
            kept[out] = calibrate(rest)
        found += compare(held, kept[out], alike=not by_load)
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
    text = ", ".join(f"{m} {median[m]:.0%}" for m in METRICS if m in median)
    says = f"each {held_back} predicted from the others; median absolute error: {text}"
    if held_back == "start":
        says += "; one load only: this says nothing about another load"
    if coverage is None:
        says += f"; no intervals: they need two {held_back}s in each fit"
    return Validation(
        schema=SCHEMA,
        held_back=held_back,
        compared=compared,
        median_abs_error=median,
        coverage=coverage,
        coverage_by_cell=coverage_by_cell(compared),
        fits=fits,
        not_simulated=not_simulated,
        says=says,
    )
