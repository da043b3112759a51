"""The quality stage of a trial: answers of each artefact, compared with the reference's."""

from __future__ import annotations

from pathlib import Path

from seatrial.core.errors import EngineError
from seatrial.core.progress import Progress
from seatrial.core.seeds import derive_seed
from seatrial.quality import Answers, QualityResult, collect, compare
from seatrial.store import read, write
from seatrial.trial.candidate import TrialCandidate
from seatrial.trial.folder import TrialFolder
from seatrial.trial.started import started
from seatrial.workload import Workload


def check_quality(
    folder: TrialFolder,
    candidates: list[TrialCandidate],
    reference: TrialCandidate,
    *,
    spec: Workload,
    progress: Progress,
) -> dict[str, QualityResult]:
    """Answers and verdicts of every candidate; finished ones are kept.

    A candidate whose engine fails here has no verdict; the bench stage meets the same failure and
    records it with its log.
    """
    answers: dict[str, Answers] = {}
    for candidate in [reference, *(c for c in candidates if c is not reference)]:
        path = folder.file("quality") / f"{candidate.id}.answers.json"
        if path.exists():
            answers[candidate.id] = read(path, Answers)
            continue
        try:
            answers[candidate.id] = _collect(candidate, spec, path, progress)
        except EngineError as error:
            progress.step("quality", f"{candidate.id}: the engine failed: {error.what}")
    if reference.id not in answers:
        return {}
    results = {}
    for name, mine in answers.items():
        path = folder.file("quality") / f"{name}.json"
        if path.exists():
            results[name] = read(path, QualityResult)
            continue
        results[name] = compare(answers[reference.id], mine)
        write(path, results[name])
        progress.step("quality", f"{name}: {results[name].verdict}")
    return results


def _collect(candidate: TrialCandidate, spec: Workload, path: Path, progress: Progress) -> Answers:
    progress.step("quality", f"{candidate.id}: asking the fixed prompts")
    log = path.with_name(f"{candidate.id}.engine.log")
    with started(candidate, spec, keep_log=log, progress=progress) as engine:
        found = collect(
            engine,
            candidate=candidate.id,
            seed=derive_seed(spec.trial.seed, "quality"),
            progress=progress,
        )
    write(path, found)
    return found
