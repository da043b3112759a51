"""``seatrial plan TRIAL``: what a trial will measure, in which order, judged by which rule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.plan import Plan

app = App(name="plan", help="What a trial measures, in which order, judged by which rule.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.default
def plan(
    source: Path,
    /,
    *,
    minutes_per_cell: float | None = None,
    extend: int | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Show the plan of a trial's folder, or the one that a workload file would get.

    Exit code 0 with at least one candidate to measure, 1 with none.

    Parameters
    ----------
    source
        A trial's folder, or a workload file.
    extend
        Carry a trial's plan on to this many starts of each candidate; then run the same
        workload again into the same folder. The plan before it is kept beside the new one.
    minutes_per_cell
        Expected minutes of one start with its load; gives the plan's total.
    """
    from seatrial.plan import Plan
    from seatrial.store import read

    console = Console(as_json=json, quiet=quiet)
    if source.is_dir():
        made = read(source / "plan.json", Plan)
        if extend is not None:
            made = _extended(source, made, extend)
    else:
        made = _from_workload(source, minutes_per_cell)
    console.document(made)
    console.line(
        f"{len(made.survivors)} candidates, {made.measured_to} starts each, seed {made.seed}"
    )
    rows = [(a.candidate, a.verdict.value, a.role) for a in made.survivors]
    console.table(("candidate", "gate", "role"), rows)
    if made.left_out:
        left = [(x.candidate, x.verdict.value, x.why) for x in made.left_out]
        console.table(("left out", "gate", "because"), left)
    console.line("order: " + "  ".join(f"{c.candidate}/{c.start}" for c in made.cells))
    metrics = [link.metric for link in made.rule.chain]
    metrics += [
        "the one with least headroom of " + ", ".join(o.metric for o in group)
        for group in [made.rule.latency_choices]
        if group
    ]
    console.line(f"ranked by: {'; then '.join(metrics)}; margin {made.rule.margin:.1%}")
    levels = ", ".join(f"{n} starts: {level:.2%}" for n, level in made.rule.levels.items())
    console.line(f"chance of a false claim at most {made.rule.alpha:.0%}: looks after {levels}")
    for note in made.notes:
        console.line(f"! {note}")
    if source.is_dir() and any(source.glob("predictions/*.json")):
        from seatrial.cli.sim import show_score
        from seatrial.sim.frozen import score_of

        show_score(console, score_of(source))
    return 0 if made.survivors else 1


def _extended(folder: Path, before: Plan, starts: int) -> Plan:
    from seatrial import plan as plans
    from seatrial.core.errors import UsageError
    from seatrial.store import write, write_bytes
    from seatrial.trial.folder import TrialFolder
    from seatrial.trial.manifest import renew_manifest

    try:
        made = plans.extend(before, starts)
    except ValueError as error:
        raise UsageError(
            f"the plan cannot be extended: {error}",
            where=str(folder / "plan.json"),
            unchanged="the plan",
            remedy="seatrial decide TRIAL says how many starts would settle it",
        ) from error
    with TrialFolder(folder).locked():
        kept = folder / f"plan.to-{before.measured_to}.json"
        write_bytes(kept, (folder / "plan.json").read_bytes())
        write(folder / "plan.json", made)
        renew_manifest(folder)
    return made


def _from_workload(path: Path, minutes_per_cell: float | None) -> Plan:
    from seatrial import gate, plan
    from seatrial.engines import installed
    from seatrial.facts import load as load_facts
    from seatrial.hardware import detect
    from seatrial.workload import fingerprint, load, resolve_traffic

    loaded = load(path)
    print_ = None
    if loaded.spec.traffic is not None:
        print_ = fingerprint(resolve_traffic(loaded).table)
    table = gate.run(
        loaded.spec,
        base_dir=loaded.path.parent,
        fingerprint=print_,
        facts=load_facts(),
        host=detect(),
        installed=installed(),
    )
    return plan.make(loaded.spec, table, fingerprint=print_, minutes_per_cell=minutes_per_cell)
