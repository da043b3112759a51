"""Predictions frozen before a measurement and scored after it.

    predict(trial, candidate, start)   before the start: what its cell will say, from earlier cells
    score(trial)                       afterwards: predicted beside measured, for the dossier

A frozen prediction is a file ``predictions/<candidate>-<start>.json`` in the trial, written once
and never again; it names the cells it rests on. One that is not older than its cell does not
count: it is shown and left out of the score.
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from seatrial.bench.cell import Cell
from seatrial.core.errors import MeasurementInvalid, PrerequisiteError
from seatrial.core.provenance import Provenance, provenance
from seatrial.fit.cost import StepCost
from seatrial.sim.cells import Measured, measured_cells
from seatrial.sim.validate import (
    METRICS,
    Compared,
    fit_cells,
    future_interval,
    log_errors,
    measured_metrics,
    predicted_metrics,
)
from seatrial.store.artifact import read, write

SCHEMA = "seatrial/prediction/1"
FOLDER = "predictions"


class Foretold(msgspec.Struct, frozen=True, kw_only=True):
    """One metric with its 90 % interval; no interval from a single cell."""

    metric: str
    predicted: float
    low: float | None
    high: float | None


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What a start that has not run yet will say. ``kind`` is always predicted."""

    schema: str
    kind: str
    candidate: str
    start: int
    cells: list[str]
    cost: StepCost
    metrics: list[Foretold]
    provenance: Provenance


def predict(trial: Path, candidate: str, start: int) -> Prediction | None:
    """Freeze a prediction of the next start under the load of the earlier ones.

    Returns the one that is there already, or None where no earlier cell can be fitted.
    """
    path = _path(trial, candidate, start)
    if path.exists():
        return read(path, Prediction)
    try:
        cells = [c for c in measured_cells(trial)[0] if c.candidate == candidate]
        cells = [c for c in cells if c.start != start]
        law = fit_cells(cells) if cells else None
    except (PrerequisiteError, MeasurementInvalid):
        return None  # nothing to predict from: the first start of a candidate
    if law is None:
        return None
    logs = log_errors(cells, law)
    made = Prediction(
        schema=SCHEMA,
        kind="predicted",
        candidate=candidate,
        start=start,
        cells=[c.observed.name for c in cells],
        cost=law.cost,
        metrics=[
            _foretold(name, value, logs.get(name, []))
            for name, value in predicted_metrics(cells[-1], law).items()
            if math.isfinite(value)
        ],
        provenance=provenance(),
    )
    write(path, made)
    return made


def score(trial: Path) -> list[Compared]:
    """Every frozen prediction whose cell is there and is younger, beside what was measured."""
    try:
        cells = {(c.candidate, c.start): c for c in measured_cells(trial)[0]}
    except PrerequisiteError:
        return []
    rows: list[Compared] = []
    for path in sorted((trial / FOLDER).glob("*.json")):
        made = read(path, Prediction)
        cell = cells.get((made.candidate, made.start))
        if cell is not None and _is_older(made, trial, cell):
            rows += _scored(made, cell)
    return rows


def _foretold(metric: str, value: float, logs: list[float]) -> Foretold:
    factors = future_interval(logs)
    low, high = (value * f for f in factors) if factors else (None, None)
    return Foretold(metric=metric, predicted=value, low=low, high=high)


def _scored(made: Prediction, cell: Measured) -> list[Compared]:
    measured = measured_metrics(cell.observed)
    rows = []
    for told in made.metrics:
        real = measured.get(told.metric, math.nan)
        if told.metric not in METRICS or not real > 0:
            continue
        covered = None
        if told.low is not None and told.high is not None:
            covered = told.low <= real <= told.high
        rows.append(
            Compared(
                candidate=made.candidate,
                cell=cell.observed.name,
                load=cell.observed.load[:12],
                metric=told.metric,
                predicted=told.predicted,
                low=told.low,
                high=told.high,
                measured=real,
                error=told.predicted / real - 1,
                covered=covered,
            )
        )
    return rows


def _is_older(made: Prediction, trial: Path, cell: Measured) -> bool:
    path = trial / "cells" / cell.candidate / f"{cell.start:03d}" / "cell.json"
    return path.exists() and (made.provenance.created_at <= read(path, Cell).provenance.created_at)


def _path(trial: Path, candidate: str, start: int) -> Path:
    return trial / FOLDER / f"{candidate}-{start:03d}.json"
