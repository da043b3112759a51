"""``seatrial quality WORKLOAD``: does each candidate still say what the reference says?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.quality import QualityResult
    from seatrial.quality.tasks import TaskResult
    from seatrial.trial.candidate import TrialCandidate
    from seatrial.workload import LoadedWorkload

app = App(name="quality", help="Task check of every candidate against the reference artefact.")

_RANK = {"fail": 2, "undecided": 1, "pass": 0}
_EXIT = {"pass": 0, "fail": 1, "undecided": 3}
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.default
def quality(
    workload: Path,
    /,
    *,
    out: Path | None = None,
    tasks: list[str] | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Start each candidate, put the fixed prompts to it, compare with the reference.

    The reference is the candidate with ``role: reference``, else the one with the finest weights.
    Exit code 1 if a candidate fails, 3 if one is undecided.

    Parameters
    ----------
    workload
        The workload file (YAML); its candidates are asked.
    out
        The trial's folder; trials/NAME under the working directory if not given.
    tasks
        Task suites to put as well: gsm8k, bbh, ifeval, schema, tools, humaneval (its answers
        are run, in a sandbox or not at all), retrieval:WORDS, or a file of JSON lines.
    """
    from seatrial.cli.startable import startable
    from seatrial.trial.candidate import reference_of
    from seatrial.trial.check import check_quality
    from seatrial.trial.folder import TrialFolder
    from seatrial.workload import load

    console = Console(as_json=json, quiet=quiet)
    loaded = load(workload)
    folder = TrialFolder(out or Path("trials") / loaded.spec.name)
    with folder.locked():
        folder.adopt(loaded.raw)
        folder.sweep()
        candidates = startable(loaded, console)
        reference = reference_of(candidates)
        assert reference is not None  # startable refuses an empty list
        results = check_quality(
            folder, candidates, reference, spec=loaded.spec, progress=console.progress
        )
        scored = _tasks(tasks, loaded, folder.file("quality"), candidates, reference.id, console)
    return _report(console, results, scored, reference.id, folder.path)


def _tasks(
    names: list[str] | None,
    loaded: LoadedWorkload,
    folder: Path,
    candidates: list[TrialCandidate],
    reference: str,
    console: Console,
) -> list[TaskResult]:
    """Put the task suites to every candidate; finished ones are kept."""
    from seatrial.core.ids import sha256_value
    from seatrial.engines import settings_for, start
    from seatrial.quality.task import items_of
    from seatrial.quality.tasks import Scores, ask_tasks, compare_tasks
    from seatrial.store import read, write

    seed = loaded.spec.trial.seed
    items = [item for name in names or [] for item in items_of(name, seed=seed)]
    if not items:
        return []
    scores: dict[str, Scores] = {}
    for candidate in candidates:
        path = folder / f"{candidate.id}.tasks-{sha256_value(items)[:8]}.json"
        if not path.exists():
            with start(
                candidate.spec,
                artefact=candidate.artefact,
                settings=settings_for(loaded.spec, candidate.spec),
                log=folder / f"{candidate.id}.tasks.log",
                progress=console.progress,
            ) as engine:
                found = ask_tasks(
                    engine, items, candidate=candidate.id, seed=seed, progress=console.progress
                )
            write(path, found)
        scores[candidate.id] = read(path, Scores)
    return [
        result
        for name, mine in scores.items()
        if name != reference
        for result in compare_tasks(scores[reference], mine)
    ]


def _report(
    console: Console,
    results: dict[str, QualityResult],
    scored: list[TaskResult],
    reference: str,
    folder: Path,
) -> int:
    import msgspec

    from seatrial.core.errors import EngineError

    judged = [result for name, result in results.items() if name != reference]
    if not judged:
        judged = list(results.values())
    if not judged:
        raise EngineError(
            "the reference gave no answers",
            where=reference,
            unchanged="the trial's other artefacts",
            remedy=f"see {folder}/quality/{reference}.engine.log",
        )
    worst = max(judged, key=lambda result: _RANK[result.verdict])
    document = msgspec.to_builtins(worst)
    document["results"] = msgspec.to_builtins(list(results.values()))
    document["tasks"] = msgspec.to_builtins(scored)
    verdicts = [worst.verdict, *(result.verdict for result in scored)]
    document["verdict"] = max(verdicts, key=_RANK.__getitem__)
    console.document(document)
    console.title(f"quality against {reference}")
    columns = ("candidate", "verdict", "KL nats", "95 %", "margin", "first token", "95 %", "floor")
    console.table(columns, [_row(result) for result in results.values()], right={2, 4, 5, 7})
    console.line(worst.rule)
    for result in scored:
        console.line(f"{result.candidate}: {result.verdict}; {result.says}")
    console.done([folder / "quality"])
    return _EXIT[str(document["verdict"])]


def _row(result: QualityResult) -> tuple[str, ...]:
    diff, agreement = result.diff, result.agreement
    return (
        result.candidate,
        result.verdict,
        f"{diff.best:.4f}",
        f"{diff.low:.4f} to {diff.high:.4f}",
        f"{result.margin:g}",
        f"{agreement.best:.0%}",
        f"{agreement.low:.0%} to {agreement.high:.0%}",
        f"{result.agreement_floor:.0%}",
    )
