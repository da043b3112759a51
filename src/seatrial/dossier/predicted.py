"""What was predicted: each cell before it ran, and the traffic simulated under the measured law.

Everything here is predicted and looks it. The frozen predictions stand beside what was measured,
with their intervals; those that do not count say why. The simulation shows one candidate: its
batches and cache over time, what requests wait for, and how the figures move with traffic, places
and token budget. Nothing in the decision rests on this section.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from seatrial.charts import Column, Figure, Row, without_rows
from seatrial.charts.batches import batches
from seatrial.charts.foretold import foretold, ranged, scattered
from seatrial.core.errors import MeasurementInvalid, PrerequisiteError, UsageError
from seatrial.dossier.words import Words
from seatrial.fit.cost import StepCost
from seatrial.fit.regress import Fit
from seatrial.fit.steps import step_table
from seatrial.sim.bottleneck import Bottleneck, bottleneck, reasons
from seatrial.sim.cells import Measured, load_of, measured_cells
from seatrial.sim.frozen import Scored, scored
from seatrial.sim.load import Load
from seatrial.sim.policy import Limits, Policy
from seatrial.sim.result import Step
from seatrial.sim.validate import fit_cells
from seatrial.sim.whatif import Curve, curves

METRICS = ("ttft_ms.p50", "ttft_ms.p99", "tpot_ms.mean")
CURVES = ("ttft_ms.p99", "tpot_ms.mean", "e2e_ms.p99", "output_tokens_per_s")
SPANS = 1200
"""Spans of equal batches that the timeline shows; of a longer one the beginning."""
UNLIMITED = 1 << 20
RESIDUALS = 160
"""Steps drawn against the law, evenly taken."""


class ForetoldCell(msgspec.Struct, frozen=True, kw_only=True):
    """One frozen prediction; ``status`` as ``sim.frozen.Scored`` has it, ``rests_on`` its cells.

    ``rows``: metric, predicted, low, high, measured, inside ("yes", "no", or "" without either).
    """

    candidate: str
    start: int
    status: str
    rests_on: list[str]
    rows: list[list[float | str | None]]


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate's traffic under the law that its cells gave."""

    candidate: str
    basis: str
    policy: str
    bottleneck: Bottleneck
    why: dict[str, str]
    curves: list[Curve]


class PredictedPart(msgspec.Struct, frozen=True, kw_only=True):
    """The section. ``inside``/``judged``: intervals that held among those that count.

    ``not_simulated``: why there is no simulation, "" where there is one.
    """

    cells: list[ForetoldCell]
    inside: int
    judged: int
    simulated: Simulated | None
    not_simulated: str
    figures: list[Figure]


def predicted(folder: Path, names: list[str], t: Words) -> PredictedPart:
    """The section of a trial; ``names`` in the dossier's order, the first measured is simulated.

    Raises:
        IntegrityError: a prediction or a cell is damaged.
    """
    found = scored(folder)
    cells = [_cell(one) for one in found]
    judged = [row.covered for one in found if one.status == "counts" for row in one.compared]
    judged = [covered for covered in judged if covered is not None]
    figures = [f for metric in METRICS if (f := _beside(found, metric, t)) is not None]
    simulated, why_not = None, "no candidate was measured"
    for name in names:
        try:
            simulated, more = _simulate(folder, name, t)
        except (PrerequisiteError, MeasurementInvalid, UsageError) as error:
            why_not = error.what
            continue
        figures, why_not = [*figures, *more], ""
        break
    return PredictedPart(
        cells=cells,
        inside=sum(1 for covered in judged if covered),
        judged=len(judged),
        simulated=simulated,
        not_simulated=why_not,
        figures=figures,
    )


def _cell(one: Scored) -> ForetoldCell:
    real = {row.metric: row for row in one.compared}
    rows: list[list[float | str | None]] = []
    for told in one.metrics:
        row = real.get(told.metric)
        inside = "" if row is None or row.covered is None else "yes" if row.covered else "no"
        measured = row.measured if row else None
        rows.append([told.metric, told.predicted, told.low, told.high, measured, inside])
    return ForetoldCell(
        candidate=one.candidate,
        start=one.start,
        status=one.status,
        rests_on=one.cells,
        rows=rows,
    )


def _beside(found: list[Scored], metric: str, t: Words) -> Figure | None:
    rows: list[Row] = []
    for one in found:
        if one.status != "counts":
            continue
        for row in one.compared:
            if row.metric == metric:
                rows.append(
                    {
                        "candidate": one.candidate,
                        "start": one.start,
                        "predicted": row.predicted,
                        "low": row.low,
                        "high": row.high,
                        "measured": row.measured,
                    }
                )
    if not rows:
        return None
    name, _, statistic = metric.partition(".")
    title = f"{t(f'metric.{name}')}, {statistic}"
    return Figure(
        id=f"foretold-{name}-{statistic}",
        title=t("predicted.beside", metric=title),
        says=t("predicted.beside.says"),
        basis="predicted",
        columns=[
            Column(key=key, title=t(f"predicted.column.{key}"), unit=unit)
            for key, unit in (
                ("candidate", ""), ("start", ""), ("predicted", "ms"), ("low", "ms"),
                ("high", "ms"), ("measured", "ms"),
            )
        ],
        rows=rows,
        spec=without_rows(
            foretold(
                rows,
                title=title,
                names=(t("predicted.column.predicted"), t("predicted.column.measured")),
            )
        ),
        sql="",
    )  # fmt: skip


def _simulate(folder: Path, name: str, t: Words) -> tuple[Simulated, list[Figure]]:
    cells, left_out = measured_cells(folder, name)
    if not cells:
        raise PrerequisiteError(left_out[0], remedy="measure a cell that is whole")
    cell, law = cells[-1], fit_cells(cells)
    simulated, figures = simulation(
        load_of(cell.observed),
        cell.policy,
        cell.limits,
        law.cost,
        candidate=name,
        basis=f"calibrated on {len(cells)} cells",
        t=t,
    )
    return simulated, [*figures, _residuals(cells, law, t)]


def _residuals(cells: list[Measured], law: Fit, t: Words) -> Figure:
    """Observed against fitted duration of the steps behind the law, by what was in the batch."""
    kinds = [t(f"predicted.residuals.{key}") for key in ("decode", "prompts", "idle")]
    coefficients = np.array(msgspec.structs.astuple(law.cost))
    rows: list[Row] = []
    for cell in cells:
        table = step_table(cell.observed, max_seqs=cell.limits.max_seqs)
        fitted = table.design() @ coefficients * 1e3
        kind = np.where(table.decode == 0, 2, np.where(table.prefill > 0, 1, 0))
        every = -(-table.n * len(cells) // RESIDUALS)  # rounded up
        rows += [
            {
                "start": cell.start,
                "fitted": round(float(fitted[i]), 3),
                "observed": round(float(table.seconds[i] * 1e3), 3),
                "kind": kinds[kind[i]],
            }
            for i in range(0, table.n, every)
            if table.seconds[i] > 0
        ]
    spec = scattered(
        rows,
        kinds=kinds,
        x_title=t("predicted.residuals.fitted"),
        y_title=t("predicted.residuals.observed"),
    )
    return Figure(
        id="fit-residuals",
        title=t("predicted.residuals.title"),
        says=t("predicted.residuals.says", rows=f"{law.rows:,}", residual=f"{law.residual:.0%}"),
        basis="predicted",
        columns=[
            Column(key="start", title=t("predicted.column.start")),
            Column(key="fitted", title=t("predicted.residuals.fitted")),
            Column(key="observed", title=t("predicted.residuals.observed")),
            Column(key="kind", title=t("predicted.residuals.kind")),
        ],
        rows=rows,
        spec=without_rows(spec),
        sql="",
    )


def simulation(
    load: Load,
    policy: Policy,
    limits: Limits,
    cost: StepCost,
    *,
    candidate: str,
    basis: str,
    t: Words,
) -> tuple[Simulated, list[Figure]]:
    """One load under one law: what it waits for, its timeline and its curves.

    Raises:
        UsageError: a request that could never be served within the limits.
    """
    found, result = bottleneck(load, policy, limits, cost)
    swept = curves(load, policy, limits, cost)
    simulated = Simulated(
        candidate=candidate,
        basis=basis,
        policy=policy.name,
        bottleneck=found,
        why=reasons(found),
        curves=swept,
    )
    figures = [_timeline(result.timeline, limits, t)]
    figures += [f for curve in swept if (f := _curve(curve, t)) is not None]
    return simulated, figures


def spans(steps: tuple[Step, ...], most: int = SPANS) -> list[Row]:
    """The steps as rows from time to time: equal ones in a row are one span.

    A stretch in which nothing ran is a span of its own; the last row ends the picture.
    """
    rows: list[Row] = []
    ended, last_shape, preempted = 0.0, None, 0
    for step in steps:
        if step.started > ended + 1e-9 or not rows:
            rows.append(_span(ended, 0, 0, 0, 0, 0, 0))
            last_shape = None
        fresh = step.preemptions - preempted
        preempted = step.preemptions
        shape = (step.decoding, step.prefilling, step.prefill_tokens, step.waiting)
        if shape != last_shape or fresh or step.held_blocks != rows[-1]["blocks"]:
            if len(rows) >= most:
                break
            rows.append(
                _span(
                    step.started, step.decoding, step.prefilling, step.waiting, fresh,
                    step.prefill_tokens, step.held_blocks,
                )
            )  # fmt: skip
        last_shape, ended = shape, step.ended
    if rows:
        rows.append({**rows[-1], "t_s": round(ended, 4), "preempted": 0})
    return rows


def _span(
    t_s: float, decoding: int, prefilling: int, waiting: int, preempted: int, tokens: int, held: int
) -> Row:
    return {
        "t_s": round(t_s, 4),
        "decoding": decoding,
        "prefilling": prefilling,
        "waiting": waiting,
        "preempted": preempted,
        "prompt_tokens": tokens,
        "blocks": held,
    }


def _timeline(steps: tuple[Step, ...], limits: Limits, t: Words) -> Figure:
    rows = spans(steps)
    keys = ("time", "sequences", "tokens", "blocks", "decoding", "prefilling", "waiting")
    spec = batches(
        rows,
        pool=limits.blocks if limits.blocks < UNLIMITED else None,
        titles={key: t(f"predicted.timeline.{key}") for key in keys},
    )
    columns = ("t_s", "decoding", "prefilling", "waiting", "preempted", "prompt_tokens", "blocks")
    return Figure(
        id="sim-timeline",
        title=t("predicted.timeline.title"),
        says=t("predicted.timeline.says"),
        basis="predicted",
        columns=[Column(key=key, title=t(f"predicted.column.{key}")) for key in columns],
        rows=rows,
        spec=without_rows(spec),
        sql="",
    )


def _curve(curve: Curve, t: Words) -> Figure | None:
    base = next((metrics for value, metrics in curve.points if value == curve.baseline), None)
    if base is None or len(curve.points) < 3:
        return None
    rows: list[Row] = [
        {"value": value, "metric": metric, "predicted": x, "ratio": x / base[metric]}
        for value, metrics in curve.points
        for metric, x in metrics.items()
        if metric in CURVES and base.get(metric) and x > 0
    ]
    key = curve.variable.replace(" ", "_")
    spec = ranged(
        rows,
        metrics=list(CURVES),
        x_title=t(f"predicted.curve.{key}"),
        y_title=t("predicted.curve.ratio"),
        baseline=curve.baseline,
    )
    return Figure(
        id=f"whatif-{key}",
        title=t("predicted.curve.title", variable=t(f"predicted.curve.{key}")),
        says=t("predicted.curve.says"),
        basis="predicted",
        columns=[
            Column(key=key, title=t(f"predicted.column.{key}"))
            for key in ("value", "metric", "predicted", "ratio")
        ],
        rows=rows,
        spec=without_rows(spec),
        sql="",
    )
