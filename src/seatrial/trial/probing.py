"""The probe stage of a trial: each candidate that can start here is started once and asked.

``unknown`` is not a pass: such a candidate enters the trial only after this. A candidate whose
engine is not installed here is left as the gate said, with the command that would settle it.
"""

from __future__ import annotations

from pathlib import Path

from seatrial.core.errors import EngineError, PrerequisiteError
from seatrial.core.progress import Progress
from seatrial.core.provenance import provenance
from seatrial.core.verdict import Verdict
from seatrial.gate import GateTable
from seatrial.plan.make import LANDSCAPE, STUDY
from seatrial.probe import Finding, Findings, ProbeReport
from seatrial.probe import run as probe
from seatrial.probe.catalogue import required_ids
from seatrial.probe.record import SCHEMA
from seatrial.store import read, write
from seatrial.trial.candidate import TrialCandidate
from seatrial.trial.folder import TrialFolder
from seatrial.trial.started import started
from seatrial.workload import Workload

WORTH_A_PROBE = frozenset({Verdict.FEASIBLE, Verdict.DEGRADED, Verdict.UNKNOWN})


def worth_probing(table: GateTable) -> list[str]:
    """Ids of the candidates the workload names that the gate has not struck out, and studies."""
    return [
        row.candidate
        for row in table.candidates
        if (row.verdict in WORTH_A_PROBE and row.role != LANDSCAPE) or row.role == STUDY
    ]


def probe_all(
    folder: TrialFolder, candidates: list[TrialCandidate], *, spec: Workload, progress: Progress
) -> dict[str, ProbeReport]:
    """A report per candidate; finished ones are kept, those not installed here have none."""
    reports = {}
    for candidate in candidates:
        path = folder.file("probes") / f"{candidate.id}.json"
        if path.exists():
            reports[candidate.id] = read(path, ProbeReport)
            continue
        try:
            report = _probe(candidate, spec, path, progress)
        except PrerequisiteError as error:
            progress.step("probe", f"{candidate.id}: not probed: {error.what}")
            continue
        write(path, report)
        reports[candidate.id] = report
        verdicts = report.findings
        progress.step(
            "probe",
            f"{candidate.id}: loads {verdicts.loads.verdict}, "
            f"optimised path {verdicts.optimised_path.verdict}",
        )
    return reports


def _probe(
    candidate: TrialCandidate, spec: Workload, path: Path, progress: Progress
) -> ProbeReport:
    progress.step("probe", f"{candidate.id}: {candidate.beginning}")
    log = path.with_name(f"{candidate.id}.engine.log")
    try:
        with started(candidate, spec, keep_log=log, progress=progress) as engine:
            return probe(
                engine,
                spec,
                candidate=candidate.id,
                only=required_ids(spec),
                seed=spec.trial.seed,
                progress=progress,
            )
    except EngineError as error:
        return _did_not_load(candidate, error)


def _did_not_load(candidate: TrialCandidate, error: EngineError) -> ProbeReport:
    untested = Finding(verdict="unknown", evidence={"says": "the engine did not run"})
    return ProbeReport(
        schema=SCHEMA,
        candidate=candidate.id,
        engine=candidate.spec.engine,
        version=candidate.spec.version,
        endpoint="",
        findings=Findings(
            loads=Finding(verdict="fail", evidence={"says": error.what, "log": str(error)}),
            optimised_path=untested,
            task=untested,
        ),
        probes=[],
        effective={},
        log_findings=[],
        provenance=provenance(),
    )
