"""``seatrial lifecycle WORKLOAD``: start, drain, kill, hang, restart, upgrade, roll back."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.lifecycle import LifecycleReport

app = App(name="lifecycle", help="Trials of an engine's life as a service.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.default
def lifecycle(
    workload: Path,
    /,
    *,
    candidate: str | None = None,
    upgrade_to: str | None = None,
    only: Annotated[list[str] | None, Parameter(negative=())] = None,
    endurance_s: float = 0.0,
    out: Path | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Put each candidate through its life; every engine is started and killed by this command.

    A trial that is not asked for keeps the result of an earlier run, with its time. Exit code 1
    if a trial of the report is over a limit of the workload's operations, or fails.

    Parameters
    ----------
    workload
        The workload file; limits are its operations.
    candidate
        This candidate only.
    upgrade_to
        The installed version to upgrade to and roll back from; the same one if left out.
    only
        One of start, drain, kill, hang, restart, port, log, memory, change. May be repeated.
    endurance_s
        Seconds of steady load in search of drift; none if left out.
    out
        The trial's folder; trials/NAME under the working directory if not given.
    """
    from seatrial.cli.startable import startable
    from seatrial.core.provenance import now_utc
    from seatrial.engines import adapter
    from seatrial.engines.start import find_environment
    from seatrial.lifecycle import LifecycleReport, run
    from seatrial.store import read, write
    from seatrial.trial.folder import TrialFolder
    from seatrial.trial.manifest import renew_manifest
    from seatrial.workload import load

    console = Console(as_json=json, quiet=quiet)
    _check(only)
    loaded = load(workload)
    folder = TrialFolder(out or Path("trials") / loaded.spec.name)
    reports, began = [], now_utc()
    with folder.locked():
        folder.adopt(loaded.raw)
        folder.sweep()
        place = folder.file("lifecycle")
        chosen = startable(loaded, console, candidate)
        files = {one.id: place / f"{one.id}.json" for one in chosen}
        earlier = {id: read(f, LifecycleReport) for id, f in files.items() if f.exists()}
        for one in chosen:
            if one.spec.endpoint:
                console.note(f"{one.id}: left out, someone else runs it")
                continue
            new = find_environment(adapter(one.spec.engine), upgrade_to) if upgrade_to else None
            report = run(
                loaded.spec,
                one.spec,
                one.artefact,
                name=one.id,
                folder=place / one.id,
                upgrade_to=new,
                only=only,
                endurance_s=endurance_s,
                earlier=earlier.get(one.id),
                progress=console.progress,
                keep=partial(write, files[one.id]),
            )
            write(files[one.id], report)
            reports.append(report)
        renew_manifest(folder.path)
    return _show(console, reports, place, began)


def _check(only: list[str] | None) -> None:
    from seatrial.core.errors import UsageError
    from seatrial.lifecycle import TRIALS

    wrong = [name for name in only or [] if name not in TRIALS]
    if wrong:
        raise UsageError(
            f"no such trial: {', '.join(wrong)}",
            where="--only",
            unchanged="nothing was started",
            remedy=f"one of: {', '.join(TRIALS)}",
        )


def _show(console: Console, reports: list[LifecycleReport], written: Path, began: str) -> int:
    import msgspec

    from seatrial.core.errors import UsageError

    if not reports:
        raise UsageError(
            "no candidate is left whose life could be tried",
            unchanged="nothing was started",
            remedy="name a candidate without an endpoint",
        )
    worst = max(reports, key=lambda r: len(r.failed))
    document: dict[str, Any] = msgspec.to_builtins(worst)
    document["results"] = msgspec.to_builtins(reports)
    console.document(document)
    for report in reports:
        console.title(f"{report.candidate}: {report.engine} {report.version}".rstrip())
        columns = ("trial", "verdict", "value", "limit", "unit")
        rows = [
            (t.id, t.verdict, _number(t.value), _number(t.limit), t.unit) for t in report.trials
        ]
        console.table(columns, rows, right={2, 3})
        if (drain := report.drain) is not None:
            console.line(
                f"SIGTERM with {drain.in_flight} in flight: {drain.finished} finished, "
                f"{drain.cut} cut, {drain.refused} refused meanwhile"
            )
        for change in filter(None, (report.upgrade, report.rollback)):
            fates = f"{change.lost} lost, {change.served} served meanwhile"
            console.line(f"{change.old} to {change.new}: {fates}")
        for kept in [t for t in report.trials if t.at and t.at <= began]:
            console.line(f"kept from an earlier run: {kept.id}, {kept.at}")
        for skipped in report.not_run:
            console.line(f"not run: {skipped.id}: {skipped.because}")
    console.done([written])
    return 1 if worst.failed else 0


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
