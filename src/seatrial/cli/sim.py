"""``seatrial sim validate TRIAL...``: how far the simulator is off, on what it did not see."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

app = App(name="sim", help="The simulator held to measurements.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.command
def validate(trial: list[Path], /, *, json: Json = False, quiet: Quiet = False) -> int:
    """Fit on some loads of the trials' cells, predict the others, print the errors.

    Parameters
    ----------
    trial: Folders of trials; cells of one candidate in several trials are taken together.
    """
    from seatrial.sim.cells import measured_cells
    from seatrial.sim.validate import validate as validated

    console = Console(as_json=json, quiet=quiet)
    cells, left_out = [], []
    for folder in trial:
        found, refused = measured_cells(folder)
        cells += found
        left_out += refused
    console.progress.step("sim", f"{len(cells)} cells; fitting and predicting")
    result = validated(cells, not_simulated=left_out)
    console.document(result)
    console.title("predicted against measured")
    console.table(
        ("cell", "metric", "predicted", "90 % interval", "measured", "error", "covered"),
        [
            (
                row.cell,
                row.metric,
                f"{row.predicted:.1f}",
                "" if row.low is None else f"{row.low:.1f} to {row.high:.1f}",
                f"{row.measured:.1f}",
                f"{row.error:+.0%}",
                "" if row.covered is None else "yes" if row.covered else "no",
            )
            for row in result.compared
        ],
        right={2, 3, 4, 5},
    )
    console.line(result.says)
    if result.coverage is not None:
        share = result.coverage
        console.line(
            f"the 90 % intervals cover {share.best:.0%} of {share.n} "
            f"[{share.low:.0%}, {share.high:.0%}]"
        )
    for why in left_out:
        console.note(f"not simulated: {why}")
    return 0
