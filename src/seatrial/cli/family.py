"""The trials of a family of workload, as ``seatrial probe --family`` makes and shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli.console import Console
from seatrial.core.errors import UsageError

if TYPE_CHECKING:
    from seatrial.probe.family import Chosen, FamilyReport
    from seatrial.workload import LoadedWorkload

AUTO = "auto"


def families(
    workload: Path, asked: list[str], candidate: str | None, out: Path | None, console: Console
) -> int:
    """Make them for every candidate; families/CANDIDATE.FAMILY.json in the trial's folder."""
    from seatrial.cli.startable import startable
    from seatrial.probe.family import run
    from seatrial.store import write
    from seatrial.trial.folder import TrialFolder
    from seatrial.trial.manifest import renew_manifest
    from seatrial.workload import load

    loaded = load(workload)
    chosen = _chosen(loaded, asked)
    folder = TrialFolder(out or Path("trials") / loaded.spec.name)
    place = folder.file("families")
    reports: list[FamilyReport] = []
    with folder.locked():
        folder.adopt(loaded.raw)
        folder.sweep()
        found = [c for c in startable(loaded, console, candidate) if not c.spec.endpoint]
        for one in found:
            others = [c.artefact for c in found if c.spec.engine == one.spec.engine]
            other = next((a for a in others if a != one.artefact), None)
            for family in chosen:
                report = run(
                    loaded.spec,
                    one.spec,
                    one.artefact,
                    family,
                    name=one.id,
                    folder=place / one.id,
                    other=other,
                    progress=console.progress,
                )
                write(place / f"{one.id}.{family.family}.json", report)
                reports.append(report)
        renew_manifest(folder.path)
    return _show(console, reports, place)


def _chosen(loaded: LoadedWorkload, asked: list[str]) -> list[Chosen]:
    from seatrial.probe.family import FAMILIES, Chosen, choose
    from seatrial.workload import fingerprint, resolve_traffic

    wrong = [name for name in asked if name not in (AUTO, *FAMILIES)]
    if wrong:
        raise UsageError(
            f"no such family: {', '.join(wrong)}",
            where="--family",
            unchanged="nothing was started",
            remedy=f"one of: {', '.join((AUTO, *FAMILIES))}",
        )
    chosen: list[Chosen] = []
    if AUTO in asked:
        traffic = loaded.spec.traffic
        print_ = fingerprint(resolve_traffic(loaded).table) if traffic is not None else None
        chosen = choose(loaded.spec, print_)
    there = {c.family for c in chosen}
    named = [name for name in dict.fromkeys(asked) if name != AUTO and name not in there]
    return [*chosen, *(Chosen(family=name, because="asked for") for name in named)]


def _show(console: Console, reports: list[FamilyReport], written: Path) -> int:
    import msgspec

    document: dict[str, Any] = {"schema": "seatrial/families/1"}
    document["results"] = msgspec.to_builtins(reports)
    console.document(document)
    for report in reports:
        console.title(f"{report.candidate}: {report.family} ({report.because})")
        for trial in report.trials:
            console.line(f"{trial.id}: {trial.says}")
            if trial.rows:
                rows = [tuple("" if v is None else v for v in row) for row in trial.rows]
                console.table(tuple(trial.columns), rows, right=set(range(1, len(trial.columns))))
        for skipped in report.not_run:
            console.line(f"not run: {skipped.id}: {skipped.because}")
    console.done([written])
    return 0 if all(r.trials for r in reports) and reports else 4
