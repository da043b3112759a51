"""``seatrial decide TRIAL``: the decision from what has been measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.decide import Decision

app = App(name="decide", help="The decision on a trial, from what has been measured.")

EXIT = {"selected": 0, "tie": 0, "none_feasible": 1, "undecided": 3}
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.default
def decide(
    trial: Path,
    /,
    *,
    previous: str | None = None,
    deploy: Path | None = None,
    image: str | None = None,
    write: Annotated[bool, Parameter(negative="--no-write")] = True,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Decide again from the artefacts in a trial's folder.

    Exit code 0 selected or tie, 1 none feasible, 3 undecided.

    Parameters
    ----------
    trial
        The trial's folder.
    previous
        What serves today; it is kept as the way back.
    deploy
        Also write deployment files for the choice into this folder (docker compose,
        Kubernetes, KServe, systemd, Modelfile).
    image
        Image reference for them, with its digest; the engine's usual image by tag if not given.
    write
        Write decision.json into the trial (the default).
    """
    from seatrial.decide import decide_folder

    console = Console(as_json=json, quiet=quiet)
    found = decide_folder(trial, previous=previous)
    if write:
        _write(trial, found)
    console.document(found)
    show(console, found)
    if write:
        console.done([trial / "decision.json"], f"seatrial dossier {trial}")
    if deploy is not None:
        _deploy(console, trial, found, deploy, image)
    return EXIT[found.outcome]


def _write(trial: Path, found: Decision) -> None:
    from seatrial.store import write as write_artifact
    from seatrial.trial.folder import TrialFolder
    from seatrial.trial.manifest import renew_manifest

    with TrialFolder(trial).locked():
        write_artifact(trial / "decision.json", found)
        renew_manifest(trial)


def _deploy(
    console: Console, trial: Path, found: Decision, folder: Path, image: str | None
) -> None:
    from seatrial.core.errors import UsageError
    from seatrial.decide import load_trial
    from seatrial.decide.deploy import files_of
    from seatrial.store import write_bytes

    try:
        files = files_of(load_trial(trial), found, image=image)
    except ValueError as error:
        raise UsageError(
            f"no deployment files: {error}",
            where=str(trial),
            unchanged="decision.json is written",
            remedy="seatrial decide TRIAL without --deploy",
        ) from error
    for name, text in files.items():
        write_bytes(folder / name, text.encode())
    console.done([folder / name for name in files])


def show(console: Console, found: Decision) -> None:
    """One screen: outcome, why, who else, what would change it, when to go back."""
    console.line(f"outcome: {found.outcome}", style=found.outcome)
    if found.selected:
        console.line(f"selected: {found.selected}")
    kind = found.comparison.kind
    differs = ", ".join(d.field for d in found.comparison.differs)
    console.line(f"comparison of {kind}" + (f"; they differ in {differs}" if differs else ""))
    for reason in found.reasons:
        console.line(f"- {reason}")
    for caveat in found.caveats:
        console.line(f"! {caveat}")
    console.line()
    rows = [(m.candidate, m.role, m.valid, m.starts, m.requests) for m in found.measured]
    console.table(("candidate", "role", "valid", "starts", "requests"), rows, right={2, 3, 4})
    _slo_table(console, found)
    if found.would_change:
        console.title("what would change it")
        for turn in found.would_change:
            console.line(f"- {turn.says}")
    if found.rollback.trigger:
        console.line(f"go back when: {found.rollback.trigger.says}")
        console.line(f"go back to: {found.rollback.previous or '-'}")
    if found.evidence_request:
        request = found.evidence_request
        console.title("what to measure next")
        for cell in request.cells:
            console.line(f"- {cell.candidate}: {cell.starts} more start(s): {cell.why}")
        minutes = "unknown" if request.minutes is None else f"about {request.minutes:.0f} min"
        console.line(f"time: {minutes}; it could change {request.could_change}")
        if request.extend_to:
            console.line(f"to do it: seatrial plan TRIAL --extend {request.extend_to}, run again")


def _slo_table(console: Console, found: Decision) -> None:
    if found.slo:
        rows = [(c.candidate, c.slo, f"{c.limit:g}", c.verdict, c.says) for c in found.slo]
        console.table(("candidate", "SLO", "limit", "verdict", "measured"), rows, right={2})
