"""The steps as functions: what ``import seatrial`` gives.

    table = seatrial.load_trace("requests.csv")        # seatrial profile
    seatrial.fingerprint(table)
    seatrial.eliminate("workload.yaml")                # seatrial gate
    seatrial.bench_endpoint("http://127.0.0.1:8000", rate_per_s=2, duration_s=30, output_tokens=64)
    seatrial.run_trial("workload.yaml")                # seatrial run
    seatrial.decide_trial("trials/support-chat")       # seatrial decide
    seatrial.write_dossier("trials/support-chat")      # seatrial dossier
    seatrial.compare_trials("trials/old", "trials/new")  # seatrial diff

Records come back, nothing is printed and nothing exits; errors are ``SeatrialError`` with what,
where, what is unchanged and what to do. ``import seatrial`` alone loads none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from seatrial.core.errors import SeatrialError
from seatrial.core.progress import Progress, Silent

if TYPE_CHECKING:
    from seatrial.bench import Cell
    from seatrial.decide import Decision
    from seatrial.decide.diff import Diff
    from seatrial.dossier import Dossier, DossierPaths
    from seatrial.facts import FactStore
    from seatrial.gate import GateTable
    from seatrial.trace import RequestTable
    from seatrial.trial.pipeline import TrialResult
    from seatrial.workload import Fingerprint, LoadedWorkload

Place: TypeAlias = "str | Path"

__all__ = [
    "SeatrialError",
    "bench_endpoint",
    "compare_trials",
    "decide_trial",
    "eliminate",
    "fingerprint",
    "load_facts",
    "load_trace",
    "load_workload",
    "read_dossier",
    "run_trial",
    "write_dossier",
]


def load_trace(
    *paths: Place,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> RequestTable:
    """Request logs as one table of requests; the format is found out if not named.

    Raises:
        UsageError: no such file, no known format, or no row that is a request.
    """
    from seatrial import trace

    places = [Path(path) for path in paths]
    kept = dict(mapping) if mapping else None
    return trace.load(places, format=format, mapping=kept, progress=progress or Silent())


def fingerprint(table: RequestTable) -> Fingerprint:
    """What the requests say about the workload: the record of ``profile --json``."""
    from seatrial.workload import fingerprint as of

    return of(table)


def load_workload(path: Place) -> LoadedWorkload:
    """A workload file, checked; all its errors are in one message.

    Raises:
        UsageError: it is missing or has errors.
    """
    from seatrial.workload import load

    return load(Path(path))


def load_facts() -> FactStore:
    """The facts about engines: the shipped snapshot and what this user has synced."""
    from seatrial.facts import load

    return load()


def eliminate(workload: Place) -> GateTable:
    """The elimination table of a workload file, on this machine: ``gate --json``.

    Raises:
        UsageError: the workload, its trace or its model cannot be read.
    """
    from seatrial import gate
    from seatrial.engines import installed
    from seatrial.hardware import detect
    from seatrial.workload import resolve_traffic

    loaded = load_workload(workload)
    traffic = loaded.spec.traffic
    traced = traffic is not None and traffic.trace is not None
    return gate.run(
        loaded.spec,
        base_dir=Path(workload).resolve().parent,
        fingerprint=fingerprint(resolve_traffic(loaded).table) if traced else None,
        facts=load_facts(),
        host=detect(),
        installed=installed(),
    )


def bench_endpoint(
    endpoint: str,
    *,
    model: str | None = None,
    engine: str | None = None,
    trace: Place | None = None,
    slo_p95_ms: Mapping[str, float] | None = None,
    seed: int = 1,
    out: Place | None = None,
    progress: Progress | None = None,
    **shape: Any,
) -> Cell:
    """Load a server that somebody else runs: the record of ``bench --json``.

    Args:
        model: the name that requests carry; the first model served if not given.
        engine: whose metrics and sampling fields it speaks, if that is known.
        trace: a request log to replay; else ``shape`` says what is sent.
        slo_p95_ms: ``ttft_ms``, ``tpot_ms``, ``e2e_ms`` -> limit, for goodput.
        out: a folder to be made for the records and cell.json; not kept if not given.
        shape: fields of ``bench.shape.Shape``: rate_per_s or concurrency, duration_s or requests,
            input_tokens, output_tokens, arrivals ...

    Raises:
        UsageError: contradictory wishes, or ``out`` exists.
        EngineError: the server does not generate.
    """
    from seatrial import engines
    from seatrial.bench.endpoint import EndpointBench, run
    from seatrial.bench.shape import Shape

    limits = dict(slo_p95_ms or {})
    slo: dict[str, float | None] = {k: limits.get(k) for k in ("ttft_ms", "tpot_ms", "e2e_ms")}
    traces = [str(trace)] if trace is not None else []
    wish = EndpointBench(shape=Shape(**shape), trace=traces, slo=slo, seed=seed)
    attached = engines.attach(endpoint, engine=engine, model=model)
    return run(wish, attached, Path(out) if out is not None else None, progress)


def run_trial(
    workload: Place, *, out: Place | None = None, progress: Progress | None = None
) -> TrialResult:
    """The whole trial of a workload file, or what is left of it: ``seatrial run``.

    Raises:
        SeatrialError: as the stage that failed says; what was finished stays.
    """
    from seatrial.trial.pipeline import run

    return run(Path(workload), out=Path(out) if out is not None else None, progress=progress)


def decide_trial(trial: Place, *, previous: str | None = None) -> Decision:
    """The decision on a trial's folder, again from its artefacts; nothing is written.

    Raises:
        PrerequisiteError: this is no planned trial.
        IntegrityError: a file is damaged.
    """
    from seatrial.decide import decide_folder

    return decide_folder(Path(trial), previous=previous)


def read_dossier(trial: Place, *, lang: str = "en") -> Dossier:
    """The dossier as a record, made from the artefacts as they are; nothing is written."""
    from seatrial.dossier import compose

    return compose(Path(trial), lang=lang)


def write_dossier(trial: Place, *, lang: str = "en", redact: bool = False) -> DossierPaths:
    """dossier.html, dossier.md and dossier.json in the trial's folder."""
    from seatrial.dossier import build

    return build(Path(trial), lang=lang, redact=redact)


def compare_trials(
    old: Place,
    new: Place,
    *,
    candidates: Sequence[str | None] = (None, None),
    margin: float | None = None,
    force: bool = False,
) -> Diff:
    """An upgrade: what changed, and is it a regression: ``seatrial diff``.

    Args:
        candidates: one of the old and one of the new trial; what each selected where None.
        margin: non-inferiority margin as a fraction; the new trial's own if not given.
        force: compare although trace, sampling or hardware differ.

    Raises:
        UsageError: the two did not serve the same requests on the same hardware.
    """
    from seatrial.decide.diff import diff

    a, b = candidates
    left, right = Path(old), Path(new)
    return diff(left, right, old_candidate=a, new_candidate=b, margin=margin, force=force)
