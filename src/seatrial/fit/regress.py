"""From observed steps to a cost law with intervals.

Least squares with coefficients that cannot be negative (Lawson and Hanson, 1974), each row weighted
by 1 / N and, iterated, by 1 / its fitted duration. That weighting is quasi-Poisson's (Wedderburn,
Biometrika 61, 1974): the fitted durations add up to the observed time, so means are not biased by
the long tail of steps, as they would be if errors counted relatively. Steps longer than twenty
times their fitted duration are left out and counted: they are the machine's, not the engine's.
Intervals come from refitting on cells drawn with replacement (a start is the unit); with one cell
there are none.
"""

from __future__ import annotations

import msgspec
import numpy as np

from seatrial.core.errors import MeasurementInvalid
from seatrial.core.seeds import stream
from seatrial.fit.cost import TERMS, StepCost
from seatrial.fit.observe import Floats
from seatrial.fit.steps import StepTable
from seatrial.stats.interval import Interval

_OUTLYING = 20.0
_FEWEST_ROWS = 30
_FEWEST_IDLE = 3
_DRAWS = 200
_ROUNDS = 6
Rows = tuple[Floats, Floats, Floats]  # design, seconds, weight


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A calibrated cost law.

    Attributes:
        cost: the coefficients, in seconds.
        intervals: term -> 90 % interval over cells; empty with one cell.
        rows, left_out: steps used, and steps left out as outlying.
        residual: median |observed - fitted| / observed over the steps; no unit.
        overhead: what a request waits beside the engine's steps (connection, parsing, the way
            back), in seconds: median over requests that met an idle engine; 0 with fewer than 3.
        cells: names of the cells behind it.
    """

    cost: StepCost
    intervals: dict[str, Interval]
    rows: int
    left_out: int
    residual: float
    cells: list[str]
    overhead: float = 0.0


def fit(tables: dict[str, StepTable], *, seed: int = 1, draws: int = _DRAWS) -> Fit:
    """Fit one law to the steps of several cells (name -> steps).

    Raises:
        MeasurementInvalid: too few steps to fit five numbers.
    """
    names = list(tables)
    kept = _kept(tables)
    rows = sum(int(mask.sum()) for mask in kept.values())
    if rows < _FEWEST_ROWS:
        raise MeasurementInvalid(
            f"{rows} steps are too few to fit a cost law (30 at least)",
            where=", ".join(names),
            unchanged="the cells",
            remedy="measure more requests or longer answers",
        )
    parts = {
        name: (table.design()[kept[name]], table.seconds[kept[name]], table.weight[kept[name]])
        for name, table in tables.items()
    }
    cost = _solve([parts[name] for name in names])
    intervals: dict[str, Interval] = {}
    if len(names) > 1 and draws:
        rng = stream(seed, "fit-bootstrap")
        drawn = [
            msgspec.structs.astuple(_solve([parts[names[i]] for i in chosen]))
            for chosen in rng.integers(0, len(names), size=(draws, len(names)))
        ]
        low, high = np.percentile(np.array(drawn), [5, 95], axis=0)
        for term, best, a, b in zip(TERMS, msgspec.structs.astuple(cost), low, high, strict=True):
            intervals[term] = Interval(
                low=float(min(a, best)),
                best=float(best),
                high=float(max(b, best)),
                n=len(names),
                confidence=0.90,
                method="bootstrap over cells",
            )
    return Fit(
        cost=cost,
        intervals=intervals,
        rows=rows,
        left_out=sum(table.n for table in tables.values()) - rows,
        residual=_residual(tables, kept, cost),
        cells=names,
        overhead=_overhead(tables, kept, cost),
    )


def _kept(tables: dict[str, StepTable]) -> dict[str, np.ndarray]:
    """Which rows are the engine's: all but those far beyond a first fit."""
    rows = [(table.design(), table.seconds, table.weight) for table in tables.values()]
    if not sum(part[1].size for part in rows):
        return {name: np.zeros(0, dtype=bool) for name in tables}
    law = np.array(msgspec.structs.astuple(_solve(rows)))
    return {
        name: table.seconds <= _OUTLYING * (table.design() @ law) for name, table in tables.items()
    }


def _solve(parts: list[Rows]) -> StepCost:
    from scipy.optimize import nnls

    design = np.concatenate([part[0] for part in parts])
    seconds = np.concatenate([part[1] for part in parts])
    weight = np.concatenate([part[2] for part in parts])
    size = np.linalg.norm(design, axis=0)
    size[size == 0] = 1.0  # a term that never occurs gets coefficient 0
    fitted = np.maximum(seconds, 1e-9)
    found = np.zeros(len(TERMS))
    for _ in range(_ROUNDS):
        scale = np.sqrt(weight / fitted)
        both = np.column_stack([design / size * scale[:, None], seconds * scale])
        small = np.asarray(np.linalg.qr(both, mode="reduced")[1])  # the same problem in six rows
        found = nnls(small[:, :-1], small[:, -1])[0] / size
        fitted = np.maximum(design @ found, 1e-6)
    step, prefill, decode, context, attention = (float(x) for x in found)
    return StepCost(
        step=max(step, 1e-9),  # a step takes time, or the simulated clock would stand still
        prefill=prefill,
        decode=decode,
        context=context,
        attention=attention,
    )


def _overhead(tables: dict[str, StepTable], kept: dict[str, np.ndarray], cost: StepCost) -> float:
    law = np.array(msgspec.structs.astuple(cost))
    over = []
    for name, table in tables.items():
        idle = kept[name] & (table.decode == 0)
        over.append(table.seconds[idle] - table.design()[idle] @ law)
    every = np.concatenate(over)
    return max(float(np.median(every)), 0.0) if every.size >= _FEWEST_IDLE else 0.0


def _residual(tables: dict[str, StepTable], kept: dict[str, np.ndarray], cost: StepCost) -> float:
    law = np.array(msgspec.structs.astuple(cost))
    errors = [
        np.abs(table.design()[kept[name]] @ law / table.seconds[kept[name]] - 1)
        for name, table in tables.items()
    ]
    return float(np.median(np.concatenate(errors)))
