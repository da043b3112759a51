"""The trials of one family on one candidate, each finding kept though another one fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from seatrial.core.errors import EngineError, UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import provenance
from seatrial.engines import settings_for
from seatrial.probe.family import programs, single_user, tenants
from seatrial.probe.family.bench import Stand
from seatrial.probe.family.choose import Chosen
from seatrial.probe.family.record import SCHEMA, FamilyReport, FamilyTrial, Skipped
from seatrial.probe.subject import Subject
from seatrial.workload import CandidateSpec, Workload

Trial = Callable[[Stand, Subject], FamilyTrial]
_ON_ONE_ENGINE: dict[str, tuple[Trial, ...]] = {
    "local_single_user": (single_user.context_sweep, single_user.after_idle),
    "many_tenants": (tenants.bursts, tenants.kv_capacity, tenants.prefix_gain),
    "structured_programs": (programs.grammar_cost, programs.program),
}


def run(
    spec: Workload,
    candidate: CandidateSpec,
    artefact: Path,
    chosen: Chosen,
    *,
    name: str,
    folder: Path,
    other: Path | None = None,
    progress: Progress | None = None,
) -> FamilyReport:
    """Make one family's trials.

    Args:
        folder: takes the engines' logs; made if it is not there.
        other: another model's weights, to switch to; None: the same again.

    Raises:
        UsageError: the candidate is an endpoint that someone else runs.
        EngineError: the engine does not start.
    """
    if candidate.endpoint:
        raise UsageError(
            "family trials start and stop the engine; an endpoint is someone else's",
            where=candidate.endpoint,
            unchanged="nothing was sent to it",
            remedy="name the engine without an endpoint",
        )
    folder.mkdir(parents=True, exist_ok=True)
    settings = settings_for(spec, candidate)
    stand = Stand(spec, candidate, artefact, settings, folder, progress or Silent())
    trials: list[FamilyTrial] = []
    not_run: list[Skipped] = []

    def keep(id: str, make: Callable[[], FamilyTrial]) -> None:
        stand.progress.step("family", f"{name}: {id}")
        try:
            trials.append(make())
        except EngineError as error:
            not_run.append(Skipped(id=id, because=f"the engine failed: {error.what}"))

    if chosen.family == "local_single_user":
        keep("load_unload_switch", lambda: single_user.load_unload_switch(stand, other))
    with stand.start(chosen.family) as engine:
        subject = stand.subject(engine)
        for trial in _ON_ONE_ENGINE[chosen.family]:
            keep(trial.__name__, lambda trial=trial: trial(stand, subject))  # type: ignore[misc]
        effective, version = subject.effective, engine.environment.version
    if chosen.family == "many_tenants" and not settings.lora:
        not_run.append(Skipped(id="adapters", because="the candidate names no adapters"))
    return FamilyReport(
        schema=SCHEMA,
        candidate=name,
        engine=candidate.engine,
        version=version,
        family=chosen.family,
        because=chosen.because,
        trials=trials,
        not_run=not_run,
        effective=effective,
        provenance=provenance(seeds={"trial": spec.trial.seed}),
    )
