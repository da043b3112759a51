"""``seatrial bench WORKLOAD``: the workload's own traffic and SLO, on one engine, once.

Against the server at ``--endpoint``, or against one candidate of the workload, which is started for
it and stopped again. One cell is no trial: nothing is repeated, compared or decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.bench import Cell
    from seatrial.engines import RunningEngine
    from seatrial.trial.candidate import TrialCandidate
    from seatrial.workload import LoadedWorkload


def bench_workload(
    workload: Path,
    *,
    endpoint: str | None,
    engine: str | None,
    model: str | None,
    candidate: str | None,
    seed: int,
    out: Path | None,
    console: Console,
    more: dict[str, Any],
) -> Cell:
    """Measure the workload's traffic once; ``more`` goes to ``measure`` as it is.

    Raises:
        UsageError: the workload has no traffic, or it is not said which candidate is meant.
        PrerequisiteError: the candidate's engine is not on this machine.
        EngineError: the engine does not start or does not generate.
    """
    from contextlib import nullcontext

    import msgspec

    from seatrial.bench import measure
    from seatrial.bench.endpoint import in_folder
    from seatrial.engines import attach
    from seatrial.trial.started import started
    from seatrial.workload import load, resolve_traffic

    loaded = load(workload)
    chosen = None if endpoint else _candidate(loaded, candidate, console)
    resolved = resolve_traffic(loaded, progress=console.progress)

    def fill(folder: Path) -> Cell:
        log_stays: AbstractContextManager[None] = nullcontext()
        if chosen is None:
            place: AbstractContextManager[RunningEngine] = nullcontext(
                attach(endpoint or "", engine=engine, model=model)
            )
        else:
            log = folder / "engine.log"
            place = started(chosen, loaded.spec, keep_log=log, progress=console.progress)
            kept = (out.parent if out else Path()) / f"{chosen.id}.engine.log"
            log_stays = _log_stays(log, kept)
        with log_stays, place as running:
            cell = measure(
                engine=running,
                candidate=chosen.id if chosen else running.adapter.name,
                start=1,
                table=resolved.table,
                spec=loaded.spec,
                seed=seed,
                folder=folder,
                progress=console.progress,
                exact=endpoint is None,
                **more,
            )
        said = [*resolved.assumptions, *cell.assumptions]
        return msgspec.structs.replace(cell, assumptions=said)

    return in_folder(out, fill)


@contextmanager
def _log_stays(log: Path, kept: Path) -> Iterator[None]:
    """An engine that failed: its log outlives the folder of the cell that there is not."""
    from shutil import copyfile

    from seatrial.core.errors import EngineError

    try:
        yield
    except EngineError as error:
        if log.is_file():
            copyfile(log, kept)
            error.where = error.where.replace(str(log), str(kept))
        raise


def _candidate(loaded: LoadedWorkload, only: str | None, console: Console) -> TrialCandidate:
    from seatrial.cli.startable import startable
    from seatrial.core.errors import UsageError

    found = startable(loaded, console, only)
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} candidates can be started here, and one is measured",
            where=str(loaded.path),
            unchanged="nothing was started",
            remedy=f"give --candidate {' or '.join(one.id for one in found)}, or seatrial run",
        )
    return found[0]
