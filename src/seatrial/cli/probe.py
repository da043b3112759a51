"""``seatrial probe``: does a live engine keep the contract the workload needs?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from seatrial.cli.console import Console
from seatrial.core.errors import UsageError

if TYPE_CHECKING:
    from seatrial.engines import RunningEngine
    from seatrial.probe import ProbeReport
    from seatrial.workload import Workload

app = App(name="probe", help="Contract probes on a live engine.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.default
def probe(
    workload: Path | None = None,
    /,
    *,
    endpoint: str | None = None,
    engine: str | None = None,
    model: str | None = None,
    candidate: str | None = None,
    only: Annotated[list[str] | None, Parameter(negative=())] = None,
    family: Annotated[list[str] | None, Parameter(negative=())] = None,
    out: Path | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Ask every candidate of a workload, or the server at an address.

    Exit code 1 if a probe that the workload requires fails, 3 if one could not be tested.

    Parameters
    ----------
    workload
        The workload file; each of its candidates is started and asked.
    endpoint
        Address of a server that runs already (http://HOST:PORT); it is only asked.
    engine
        Which engine that server is, if it is known: vllm, llama.cpp, ...
    model
        The model name that server's requests carry; the first one it names if left out.
    candidate
        Ask this candidate of the workload only.
    only
        Ids of probes to run; all if left out. May be repeated.
    family
        Make the trials of a family of workload instead: auto (from the fingerprint and the
        requirements), local_single_user, many_tenants, structured_programs. May be repeated.
    out
        The trial's folder; trials/NAME under the working directory if not given.
    """
    console = Console(as_json=json, quiet=quiet)
    if endpoint is None and workload is None:
        raise UsageError(
            "nothing to probe",
            unchanged="nothing was sent",
            remedy="give a workload file, or --endpoint http://HOST:PORT",
        )
    spec = _spec(workload)
    if endpoint is not None:
        from seatrial.engines import attach

        live = attach(endpoint, engine=engine, model=model)
        return _show(console, [_ask(live, spec, endpoint, only, console)])
    assert workload is not None
    if family:
        from seatrial.cli.family import families

        return families(workload, family, candidate, out, console)
    return _candidates(workload, candidate, only, out, console)


def _spec(workload: Path | None) -> Workload | None:
    from seatrial.workload import load

    return load(workload).spec if workload else None


def _candidates(
    workload: Path,
    candidate: str | None,
    only: list[str] | None,
    out: Path | None,
    console: Console,
) -> int:
    from seatrial.cli.startable import startable
    from seatrial.store import write
    from seatrial.trial.folder import TrialFolder
    from seatrial.trial.manifest import renew_manifest
    from seatrial.trial.started import started
    from seatrial.workload import load

    loaded = load(workload)
    folder = TrialFolder(out or Path("trials") / loaded.spec.name)
    reports = []
    with folder.locked():
        folder.adopt(loaded.raw)
        folder.sweep()
        for one in startable(loaded, console, candidate):
            log = folder.file("probes") / f"{one.id}.engine.log"
            with started(one, loaded.spec, keep_log=log, progress=console.progress) as live:
                reports.append(_ask(live, loaded.spec, one.id, only, console))
            write(folder.file("probes") / f"{one.id}.json", reports[-1])
        renew_manifest(folder.path)
    return _show(console, reports, folder.file("probes"))


def _ask(
    live: RunningEngine, spec: Workload | None, name: str, only: list[str] | None, console: Console
) -> ProbeReport:
    from seatrial.probe import run

    return run(live, spec, candidate=name, only=only, progress=console.progress)


def _show(console: Console, reports: list[ProbeReport], written: Path | None = None) -> int:
    """The worst report is the document; all of them are under ``results``."""
    import msgspec

    worst = max(reports, key=_code)
    document: dict[str, Any] = msgspec.to_builtins(worst)
    document["results"] = msgspec.to_builtins(reports)
    console.document(document)
    for report in reports:
        console.title(f"{report.candidate}: {report.engine} {report.version or ''}".rstrip())
        found = report.findings
        for name in ("loads", "optimised_path", "task"):
            console.line(f"{name.replace('_', ' ')}: {getattr(found, name).verdict}")
        rows = [
            (p.id, "required" if p.required else "", p.verdict, _says(p.evidence))
            for p in report.probes
        ]
        console.table(("probe", "", "verdict", "evidence"), rows)
    console.done([written] if written else [])
    return 3 if _code(worst) == 1 else (1 if _code(worst) == 2 else 0)


def _code(report: ProbeReport) -> int:
    """0 all required probes pass, 1 one is untested, 2 one fails."""
    if report.failed_required:
        return 2
    return 1 if report.untested_required else 0


def _says(evidence: dict[str, Any]) -> str:
    """The first sentence or the first few numbers of a probe's evidence."""
    if "says" in evidence:
        return str(evidence["says"])
    short = [f"{k}={v}" for k, v in evidence.items() if isinstance(v, int | float | str)]
    return ", ".join(short)[:100]
