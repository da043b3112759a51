"""``seatrial capacity WORKLOAD``: replicas for the SLO when traffic grows; predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.sim.capacity import Point

app = App(name="capacity", help="Replicas and cost for the SLO when traffic grows.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.default
def capacity(
    workload: Path,
    /,
    *,
    trial: Path | None = None,
    usd_per_replica_hour: float | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Replicas for 1 to 10 times the traffic, for candidates measured in the workload's trial.

    Exit code 3 if no candidate has been measured: the cells to run are named.

    Parameters
    ----------
    workload
        The workload file (YAML).
    trial
        The trial's folder; trials/NAME under the working directory if not given.
    usd_per_replica_hour
        Price of one replica's hardware; without it there is no cost column.
    """
    from seatrial.core.errors import PrerequisiteError
    from seatrial.gate import candidate_id
    from seatrial.sim.capacity import capacity as planned
    from seatrial.sim.cells import Measured, measured_cells
    from seatrial.workload import load

    console = Console(as_json=json, quiet=quiet)
    loaded = load(workload)
    spec = loaded.spec
    cells: list[Measured] = []
    try:
        cells, left_out = measured_cells(trial or Path("trials") / spec.name)
        for why in left_out:
            console.note(f"not simulated: {why}")
    except PrerequisiteError as error:
        console.note(error.what)
    known = {cell.candidate for cell in cells}
    asked = [candidate_id(c) for c in spec.candidates or []]
    missing = [name for name in asked if not _measured(name, known)]
    console.progress.step("capacity", f"simulating {len(known)} measured candidates")
    result = planned(
        cells,
        spec.slo,
        usd_per_replica_hour=usd_per_replica_hour,
        cold_start_s=spec.operations.cold_start_s,
        not_measured=missing,
    )
    console.document(result)
    console.title("capacity (predicted)")
    columns = (
        "candidate",
        "traffic",
        "replicas",
        "low",
        "high",
        "one failed",
        "ramp",
        "USD/h",
        "basis",
    )
    console.table(columns, [_row(point) for point in result.points], right={1, 2, 3, 4, 5, 6, 7})
    for line in result.says:
        console.line(line)
    for line in result.to_run:
        console.note(f"next: {line}")
    return 0 if known else 3


def _measured(name: str, known: set[str]) -> bool:
    """Whether a candidate has cells; a trial may have resolved "newest" to a version."""
    head, newest, tail = name.partition("-newest")
    return name in known or (
        bool(newest) and any(k.startswith(f"{head}-") and k.endswith(tail) for k in known)
    )


def _row(point: Point) -> tuple[str, ...]:
    def text(value: float | None) -> str:
        return "" if value is None else f"{value:g}"

    found = point.replicas
    return (
        point.candidate,
        f"x {point.scale:g}",
        text(found.best) or ("none found" if point.basis != "not_measured" else ""),
        text(found.low),
        text(found.high),
        text(point.with_one_failed),
        text(point.ramp),
        text(point.usd_per_hour),
        point.basis,
    )
