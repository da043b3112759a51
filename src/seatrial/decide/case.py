"""Everything the decision looks at, gathered once: the candidates' valid cells and their requests.

All candidates are read over the same requests: those that every compared cell offered. Memory holds
a few columns of numbers per request and cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seatrial.bench.cell import Cell
from seatrial.decide.coldstart import cold_start_s
from seatrial.decide.comparability import kind_of
from seatrial.decide.constraints import QualityLike
from seatrial.decide.cost import cost_of, operating_of
from seatrial.decide.record import ComparisonKind, Cost, Measured, Operating
from seatrial.decide.requests import Columns, completed, start_values
from seatrial.plan.objective import LATENCIES
from seatrial.plan.record import Plan
from seatrial.workload.spec import Workload

METRICS = (
    "goodput",
    "output_tokens_per_s",
    *(f"{name}.{key}" for name in LATENCIES for key in ("mean", "p50", "p90", "p95", "p99")),
)


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs of one decision; mappings are by candidate, in the plan's order."""

    spec: Workload
    plan: Plan
    cells: Mapping[str, Sequence[Cell]]  # valid ones, by start
    all_cells: Sequence[Cell]
    requests: Mapping[str, Sequence[Columns]]  # parallel to ``cells``
    values: Mapping[tuple[str, int], Mapping[str, float]]
    quality: Mapping[str, QualityLike]
    costs: Mapping[str, Cost]
    operations: Mapping[str, Operating]
    caveats: list[str] = field(default_factory=list)

    @property
    def minutes_per_cell(self) -> float | None:
        """Mean time of a cell as measured, start included; the plan's estimate without cells."""
        if not self.all_cells:
            return self.plan.minutes_per_cell
        spent = [c.duration_s + (cold_start_s(c.cold_start_s) or 0.0) for c in self.all_cells]
        return float(np.mean(spent)) / 60

    def series(self, candidate: str, metric: str) -> list[float]:
        """One metric per valid start."""
        return [self.values[c.candidate, c.start][metric] for c in self.cells[candidate]]


def gather(
    *,
    spec: Workload,
    plan: Plan,
    cells: Sequence[Cell],
    requests: Callable[[Cell], Columns],
    quality: Mapping[str, QualityLike],
    lifecycle: Mapping[str, Mapping[str, Any]],
    platform: Mapping[str, Mapping[str, Any]],
) -> Case:
    """Read the requests of every valid cell and take the metrics of each start."""
    names = [arm.candidate for arm in plan.survivors]
    cells = sorted(cells, key=lambda c: (c.candidate, c.start))
    mine: dict[str, list[Cell]] = {
        name: sorted((c for c in cells if c.candidate == name and c.valid), key=lambda c: c.start)
        for name in names
    }
    caveats: list[str] = []
    read = _shared({n: [requests(c) for c in mine[n]] for n in names}, caveats)
    common = _completed_everywhere(read, caveats)
    metrics = [*METRICS, *_slo_metrics(spec)]
    values = {
        (name, cell.start): start_values(columns, spec.slo, metrics, common)
        | _from_summary(cell, spec)
        for name in names
        for cell, columns in zip(mine[name], read[name], strict=True)
    }
    costs, ops = {}, {}
    for name in names:
        rates = [values[name, c.start]["output_tokens_per_s"] for c in mine[name]]
        shares = [values[name, c.start]["goodput"] for c in mine[name]]
        cost = cost_of(name, spec.budget.usd_per_hour, rates, shares)
        if cost:
            costs[name] = cost
        ops[name] = operating_of(
            name,
            [c.resources for c in mine[name]],
            [c.cold_start_s for c in mine[name]],
            platform.get(name, {}),
            lifecycle.get(name, {}),
        )
    return Case(spec, plan, mine, cells, read, values, quality, costs, ops, caveats)


def measured_of(case: Case) -> list[Measured]:
    """What was measured, for the record."""
    out = []
    for arm in case.plan.survivors:
        name = arm.candidate
        rows = [
            {"start": c.start}
            | {
                key: value if np.isfinite(value) else None
                for key, value in case.values[name, c.start].items()
                if not np.isnan(value)
            }
            for c in case.cells[name]
        ]
        out.append(
            Measured(
                candidate=name,
                role=arm.role,
                starts=sum(c.candidate == name for c in case.all_cells),
                valid=len(case.cells[name]),
                requests=sum(len(r["status"]) for r in case.requests[name]),
                start_values=rows,
            )
        )
    return out


def comparison_of(case: Case, names: Sequence[str]) -> ComparisonKind:
    """Engines or deployments, over the contenders that have a valid cell."""
    fields = {n: case.cells[n][0].comparability for n in names if case.cells[n]}
    return kind_of(fields)


def _shared(read: Mapping[str, Sequence[Columns]], caveats: list[str]) -> dict[str, list[Columns]]:
    """Keep the requests that every cell offered; say so when that is not all of them."""
    ids = [columns["request_id"] for found in read.values() for columns in found]
    if not ids or all(np.array_equal(ids[0], other) for other in ids[1:]):
        return {name: list(found) for name, found in read.items()}
    common = ids[0]
    for other in ids[1:]:
        common = np.intersect1d(common, other)
    most = max(len(i) for i in ids)
    caveats.append(
        f"the cells did not offer the same requests: {len(common)} of {most} are common to all and"
        " are what is compared"
    )
    return {
        name: [
            {key: column[np.isin(columns["request_id"], common)] for key, column in columns.items()}
            for columns in found
        ]
        for name, found in read.items()
    }


def _from_summary(cell: Cell, spec: Workload) -> dict[str, float]:
    """ITL is per event, and so is a goodput that has an ITL in it: bench has computed both."""
    found = {
        f"itl_ms.{key}": np.nan if value is None else float(value)
        for key in ("mean", "p50", "p90", "p95", "p99")
        for value in [getattr(cell.itl_ms, key)]
    }
    if spec.slo.itl_ms and cell.goodput is not None:
        found["goodput"] = cell.goodput
    return found


MOSTLY = 0.9


def _completed_everywhere(
    read: Mapping[str, Sequence[Columns]], caveats: list[str]
) -> NDArray[np.bool_] | None:
    """Which requests completed in every start of every candidate that completes most of them.

    A candidate that completes fewer than MOSTLY of its requests has lost on goodput; it does not
    take the others' requests out of the comparison.
    """
    usual = [found for found in read.values() if found and _completion(found) >= MOSTLY]
    if not usual:
        return None
    kept = np.logical_and.reduce([completed(columns) for found in usual for columns in found])
    if not kept.all():
        caveats.append(
            f"latencies are compared over the {int(kept.sum())} of {kept.size} requests that"
            " completed in every start; failures count in goodput and against the SLOs"
        )
    return np.asarray(kept)


def _completion(found: Sequence[Columns]) -> float:
    return float(np.mean([completed(columns).mean() for columns in found]))


def _slo_metrics(spec: Workload) -> list[str]:
    found = [f"{name}.{key}" for name in LATENCIES for key in (getattr(spec.slo, name) or {})]
    return [metric for metric in found if metric not in METRICS]
