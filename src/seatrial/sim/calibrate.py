"""A law of some cells, and how far such laws are off on cells they were not fitted to.

The error is never taken from the cells that made the law. Each load is left out in turn (with one
load only: each start), the others are fitted, the one is predicted, and what remains is

    r = ln(measured / predicted) / max(|S|, 0.1)

with S the elasticity of this metric on this load: by how many per cent it grows when every step is
one per cent longer (two simulations). Far from saturation S is about 1 for a latency and 0 for the
throughput; near it a TTFT p99 has S of 5 and more, and the same error of the law costs that much
more. Dividing makes the errors of different loads alike, so that those of some loads tell about
another (a normalised residual: Papadopoulos et al., ICTAI 2008; leave-one-out: Barber et al.,
Annals of Statistics 49, 2021). The interval of a future cell is Student's t on r (Hahn and Meeker,
Statistical Intervals, 1991, section 4.8) with cells of one load as what they are, alike; it is
multiplied by the cell's own S.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from seatrial.core.errors import MeasurementInvalid
from seatrial.fit.cost import StepCost, scaled
from seatrial.fit.regress import Fit, fit
from seatrial.fit.steps import StepTable, step_table
from seatrial.sim.cells import Measured, load_of
from seatrial.sim.fast import jump_loop, simulate
from seatrial.sim.metrics import METRICS, PARTS, of_observed, of_result
from seatrial.stats.mean import t_quantile

CONFIDENCE = 0.90
LEAST_ELASTICITY = 0.1
_NUDGE = 1.1
_SMALL = 3000  # requests up to which plain Python is faster than loading the compiled loop


@dataclass(frozen=True, slots=True)
class Foresight:
    """What a law says of one cell: metric -> value, and metric -> elasticity S."""

    value: dict[str, float]
    elasticity: dict[str, float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A law with its errors on what it did not see.

    ``held_back``: "load", "start", or "" where there was one cell. ``errors``: metric -> normalised
    residuals, one list per group.
    """

    law: Fit
    held_back: str
    errors: dict[str, list[list[float]]]

    def interval(
        self, metric: str, foreseen: Foresight, *, alike: bool = False
    ) -> tuple[float, float] | None:
        """The 90 % interval of a cell that is still to come.

        None where the errors cannot tell: fewer than two groups, or only starts of one load and
        the cell is of another (``alike`` says that it is not).
        """
        if not self.held_back or (self.held_back == "start" and not alike):
            return None
        factors = future_interval(self.errors.get(metric, []))
        value = foreseen.value.get(metric, math.nan)
        if factors is None or not math.isfinite(value):
            return None
        spread = max(abs(foreseen.elasticity.get(metric, 1.0)), LEAST_ELASTICITY)
        return value * math.exp(factors[0] * spread), value * math.exp(factors[1] * spread)


def calibrate(cells: list[Measured], *, draws: int = 0) -> Calibration:
    """Fit the cells of one candidate and leave one load (or start) out at a time.

    Raises:
        MeasurementInvalid: too few steps to fit.
    """
    tables = [step_table(cell.observed, max_seqs=cell.limits.max_seqs) for cell in cells]
    loads = [cell.observed.load for cell in cells]
    by_load = len(set(loads)) > 1
    groups = loads if by_load else [cell.observed.name for cell in cells]
    errors: dict[str, list[list[float]]] = defaultdict(list)
    for group in dict.fromkeys(groups) if len(set(groups)) > 1 else ():
        rest = {
            cell.observed.name: table
            for cell, table, own in zip(cells, tables, groups, strict=True)
            if own != group
        }
        try:
            law = fit(rest, draws=0)
        except MeasurementInvalid:
            continue  # the others alone are too few: this group tells nothing
        found: dict[str, list[float]] = defaultdict(list)
        for cell, own in zip(cells, groups, strict=True):
            if own == group:
                for metric, error in _errors(cell, law).items():
                    found[metric].append(error)
        for metric, values in found.items():
            errors[metric].append(values)
    held_back = ("load" if by_load else "start") if errors else ""
    return Calibration(law=_fitted(cells, tables, draws), held_back=held_back, errors=errors)


def future_interval(groups: list[list[float]]) -> tuple[float, float] | None:
    """(low, high) of a value from one more group; None with fewer than two groups.

    The values are errors of laws without their own group. The law of all k groups is better: for
    a mean, exactly by (k - 1) / k (Allen, Technometrics 16, 1974), which is taken off the groups'
    means; how values differ within a group has nothing to do with the law. Variance of
    a value from a new group by one-way analysis, degrees of freedom by Satterthwaite (Biometrics
    Bulletin 2, 1946): where cells of a group differ as much as groups do, all of them count.
    """
    k = len(groups)
    if k < 2:
        return None
    raw = [np.asarray(group, dtype=np.float64) for group in groups]
    parts = [part - part.mean() / k for part in raw]
    every = np.concatenate(parts)
    mean, size = float(every.mean()), every.size / k
    between = sum(part.size * (float(part.mean()) - mean) ** 2 for part in parts) / (k - 1)
    shares, freedom = [between / size], [k - 1]
    if every.size > k:
        within = sum(float(((part - part.mean()) ** 2).sum()) for part in parts) / (every.size - k)
        shares.append(within * (1 - 1 / size))
        freedom.append(every.size - k)
    variance = sum(shares)
    if not variance:
        return mean, mean
    df = variance**2 / sum(share**2 / own for share, own in zip(shares, freedom, strict=True))
    half = float(t_quantile(df, (1 + CONFIDENCE) / 2))
    half *= math.sqrt(variance + between / every.size)
    return mean - half, mean + half


def foresee(cell: Measured, law: Fit) -> Foresight:
    """Simulate the cell's load under the law, and with every step a tenth longer and shorter."""
    value = simulated(cell, law.cost, law.overhead)
    fast, slow = (
        simulated(cell, scaled(law.cost, factor), law.overhead) for factor in (1 / _NUDGE, _NUDGE)
    )
    elasticity = {
        metric: math.log(slow[metric] / fast[metric]) / (2 * math.log(_NUDGE))
        for metric in value
        if fast[metric] > 0 and slow[metric] > 0
    }
    return Foresight(value, elasticity)


def simulated(cell: Measured, cost: StepCost, overhead: float = 0.0) -> dict[str, float]:
    """Metric -> value of the cell's load, simulated."""
    load = load_of(cell.observed)
    if cell.policy.mode < 0:
        result = simulate(load, cell.policy, cell.limits, cost)
    else:
        plain = load.n <= _SMALL
        result = jump_loop(load, cell.policy, cell.limits, cost, plain=plain)
    return of_result(result, overhead=overhead)


def _errors(cell: Measured, law: Fit) -> dict[str, float]:
    foreseen, measured = foresee(cell, law), of_observed(cell.observed)
    found = {}
    for metric in (*METRICS, *PARTS):
        told, real = foreseen.value.get(metric, math.nan), measured.get(metric, math.nan)
        if told > 0 and real > 0:
            spread = max(abs(foreseen.elasticity.get(metric, 1.0)), LEAST_ELASTICITY)
            found[metric] = math.log(real / told) / spread
    return found


def _fitted(cells: list[Measured], tables: list[StepTable], draws: int) -> Fit:
    named = {cell.observed.name: table for cell, table in zip(cells, tables, strict=True)}
    return fit(named, draws=draws)
