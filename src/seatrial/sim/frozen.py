"""Predictions frozen before a measurement and scored after it.

    predict(trial, candidate, start)   before the start: what its cell will say, from earlier cells
    score(trial)                       afterwards: predicted beside measured, for the dossier

A frozen prediction is a file ``predictions/<candidate>-<start>.json`` in the trial, written once
and never again; it names the cells it rests on. The cell carries a copy among its own hashed
files (``prediction.json``, laid there before its engine starts), so the prediction cannot change
after the measurement without being found out. What is not sealed that way, or differs from its
seal, is shown and does not count.

A prediction is for information: nothing is decided, ordered or left out by it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from seatrial.bench.cell import Cell
from seatrial.core.errors import MeasurementInvalid, PrerequisiteError, UsageError
from seatrial.core.ids import sha256_file
from seatrial.core.provenance import Provenance, provenance
from seatrial.fit.cost import StepCost
from seatrial.sim.calibrate import calibrate, foresee
from seatrial.sim.cells import Measured, measured_cells
from seatrial.sim.metrics import METRICS, of_observed
from seatrial.sim.validate import Compared
from seatrial.store.artifact import read, write

SCHEMA = "seatrial/prediction/1"
FOLDER = "predictions"
SEAL = "prediction.json"
Status = Literal["counts", "waits", "not_valid", "not_sealed", "changed"]


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
    overhead_s: float
    metrics: list[Foretold]
    provenance: Provenance


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """One frozen prediction and what became of it.

    Attributes:
        status: ``counts`` (sealed before its cell, cell valid), ``waits`` (no cell yet),
            ``not_valid`` (the cell is not, or cannot be read as one), ``not_sealed`` (the cell
            does not carry it: made afterwards), ``changed`` (it is not what the cell sealed).
        compared: predicted beside measured; empty unless it counts or is merely not sealed.
    """

    candidate: str
    start: int
    path: str
    cells: list[str]
    status: Status
    metrics: list[Foretold]
    compared: list[Compared]


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """sim score --json: every frozen prediction of a trial; ``inside`` of ``judged`` intervals
    of those that count hold what was measured."""

    schema: str
    trial: str
    predictions: list[Scored]
    inside: int
    judged: int


def score_of(trial: Path) -> Score:
    """The score of a trial's folder.

    Raises:
        IntegrityError: a prediction or a cell cannot be read.
    """
    found = scored(trial)
    judged = [
        row.covered
        for one in found
        if one.status == "counts"
        for row in one.compared
        if row.covered is not None
    ]
    return Score(
        schema="seatrial/sim-score/1",
        trial=trial.name,
        predictions=found,
        inside=sum(judged),
        judged=len(judged),
    )


def predict(trial: Path, candidate: str, start: int) -> Prediction | None:
    """Freeze a prediction of the next start under the load of the earlier ones.

    Returns the one that is there already, or None where no earlier cell can be fitted or
    simulated: the first start of a candidate, above all.
    """
    path = path_of(trial, candidate, start)
    if path.exists():
        return read(path, Prediction)
    try:
        cells = [c for c in measured_cells(trial, candidate)[0] if c.start != start]
        if not cells:
            return None
        made = _made(cells, start)
    except (PrerequisiteError, MeasurementInvalid, UsageError):
        return None  # nothing to predict from, or a load that the model of the engine cannot serve
    write(path, made)
    return made


def score(trial: Path) -> list[Compared]:
    """Every prediction that counts, beside what was measured."""
    return [row for one in scored(trial) if one.status == "counts" for row in one.compared]


def scored(trial: Path) -> list[Scored]:
    """Every frozen prediction of the trial, by candidate and start, with its state.

    Raises:
        IntegrityError: a prediction or a cell cannot be read.
    """
    found = [_scored(trial, path) for path in sorted((trial / FOLDER).glob("*.json"))]
    return sorted(found, key=lambda one: (one.candidate, one.start))


def path_of(trial: Path, candidate: str, start: int) -> Path:
    """Where the prediction of one start lies."""
    return trial / FOLDER / f"{candidate}-{start:03d}.json"


def _made(cells: list[Measured], start: int) -> Prediction:
    known = calibrate(cells)
    like = cells[-1]  # its requests are those of every start of this trial
    alike = len({cell.observed.load for cell in cells}) == 1
    foreseen = foresee(like, known.law)
    told = []
    for metric in METRICS:
        if foreseen.value.get(metric, 0.0) > 0:
            span = known.interval(metric, foreseen, alike=alike) or (None, None)
            told.append(
                Foretold(metric=metric, predicted=foreseen.value[metric], low=span[0], high=span[1])
            )
    return Prediction(
        schema=SCHEMA,
        kind="predicted",
        candidate=like.candidate,
        start=start,
        cells=[c.observed.name for c in cells],
        cost=known.law.cost,
        overhead_s=known.law.overhead,
        metrics=told,
        provenance=provenance(),
    )


def _scored(trial: Path, path: Path) -> Scored:
    made = read(path, Prediction)
    folder = trial / "cells" / made.candidate / f"{made.start:03d}"
    status, compared = _state(folder, path), []
    if status in ("counts", "not_sealed"):
        cell = next(
            (
                c
                for c in measured_cells(trial, made.candidate)[0]
                if c.start == made.start and c.candidate == made.candidate
            ),
            None,
        )
        if cell is None:
            status = "not_valid"
        else:
            compared = _rows(made, cell)
    return Scored(
        candidate=made.candidate,
        start=made.start,
        path=str(path.relative_to(trial)),
        cells=made.cells,
        status=status,
        metrics=made.metrics,
        compared=compared,
    )


def _state(folder: Path, path: Path) -> Status:
    if not (folder / "cell.json").is_file():
        return "waits"
    cell = read(folder / "cell.json", Cell)
    seal = cell.files.get(SEAL)
    if seal is None:
        return "not_sealed" if cell.valid else "not_valid"
    if seal != sha256_file(path):
        return "changed"
    return "counts" if cell.valid else "not_valid"


def _rows(made: Prediction, cell: Measured) -> list[Compared]:
    measured = of_observed(cell.observed)
    rows = []
    for told in made.metrics:
        real = measured.get(told.metric, 0.0)
        if not real > 0:
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
