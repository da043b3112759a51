"""``seatrial sim``: the simulator held to measurements (validate, score), and its timeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.sim.frozen import Score

app = App(name="sim", help="The simulator held to measurements.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.command
def timeline(
    workload: Path,
    /,
    *,
    policy: str = "chunked-prefill",
    trial: Path | None = None,
    candidate: str | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Every simulated step of the workload's traffic: what was computed, who waited, KV blocks.

    Parameters
    ----------
    workload
        The workload file (YAML).
    policy
        A scheduler: chunked-prefill, prefill-first, iteration-level, request-level, ...
    trial
        The trial's folder; trials/NAME under the working directory if not given.
    candidate
        Which measured candidate's step times; the first by name if not given.
    """
    from seatrial.cli.whatif import basis_of
    from seatrial.core.errors import UsageError
    from seatrial.sim import POLICIES, from_table, step_loop
    from seatrial.sim.result import Timeline
    from seatrial.workload import load, resolve_traffic

    console = Console(as_json=json, quiet=quiet)
    if policy not in POLICIES:
        raise UsageError(
            f"there is no scheduler {policy!r}", remedy=f"take one of {', '.join(POLICIES)}"
        )
    loaded = load(workload)
    folder = trial or Path("trials") / loaded.spec.name
    cost, limits, _, basis, _ = basis_of(
        loaded.spec, loaded.path.parent, folder, candidate, console
    )
    requests = from_table(resolve_traffic(loaded).table)
    result = step_loop(requests, POLICIES[policy], limits, cost, keep_steps=True)
    console.document(
        Timeline(
            schema="seatrial/sim-timeline/1",
            kind="predicted",
            basis=basis,
            policy=policy,
            blocks=limits.blocks,
            steps=result.timeline,
        )
    )
    console.title(f"simulated steps, {policy} (cost law: {basis})")
    console.table(
        ("from s", "to s", "prompt tokens", "prompts", "decoding", "waiting", "blocks held"),
        [
            (
                f"{s.started:.3f}",
                f"{s.ended:.3f}",
                s.prefill_tokens,
                s.prefilling,
                s.decoding,
                s.waiting,
                s.held_blocks,
            )
            for s in result.timeline
        ],
        right=range(7),
    )
    return 0


@app.command
def validate(trial: list[Path], /, *, json: Json = False, quiet: Quiet = False) -> int:
    """Fit on some loads of the trials' cells, predict the others, print the errors.

    Parameters
    ----------
    trial
        Folders of trials; cells of one candidate in several trials are taken together.
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


@app.command
def score(trial: Path, /, *, json: Json = False, quiet: Quiet = False) -> int:
    """Each start of a trial as it was predicted before it ran, beside what was measured.

    Parameters
    ----------
    trial
        The trial's folder.
    """
    from seatrial.sim.frozen import score_of

    console = Console(as_json=json, quiet=quiet)
    found = score_of(trial)
    console.document(found)
    show_score(console, found)
    return 0


def show_score(console: Console, found: Score) -> None:
    """The table of ``sim score``; also at the end of ``plan TRIAL``."""
    console.title("predicted before it ran, and measured (information; nothing rests on it)")
    if not found.predictions:
        console.line("no start was predicted: that needs an earlier valid start of its candidate")
        return
    rows = []
    for one in found.predictions:
        real = {row.metric: row for row in one.compared}
        for told in one.metrics:
            row = real.get(told.metric)
            inside = "" if row is None or row.covered is None else "yes" if row.covered else "no"
            rows.append(
                (
                    f"{one.candidate}/{one.start}",
                    told.metric,
                    f"{told.predicted:.1f}",
                    "" if told.low is None else f"{told.low:.1f} to {told.high:.1f}",
                    f"{row.measured:.1f}" if row else one.status,
                    inside,
                )
            )
    columns = ("start", "metric", "predicted", "90 % interval", "measured", "inside")
    console.table(columns, rows, right={2, 3, 4})
    if found.judged:
        console.line(f"{found.inside} of {found.judged} figures lie inside their intervals")
