"""One cell of a trial: start the engine, measure, stop, and only then let the folder appear."""

from __future__ import annotations

from pathlib import Path

import msgspec

from seatrial.bench import Cell, measure
from seatrial.core.errors import EngineError
from seatrial.core.ids import sha256_file
from seatrial.core.progress import Progress
from seatrial.engines import settings_for, start
from seatrial.model.weights_identity import weights_sha256
from seatrial.plan import PlannedCell
from seatrial.sim import frozen
from seatrial.store import whole_folder, write, write_bytes
from seatrial.trace import RequestTable
from seatrial.trial.candidate import TrialCandidate
from seatrial.trial.failed import failed_cell
from seatrial.workload import Workload


def measure_cell(
    folder: Path,
    planned: PlannedCell,
    candidate: TrialCandidate,
    *,
    spec: Workload,
    table: RequestTable,
    hardware: str,
    progress: Progress,
    prediction: Path | None = None,
) -> Cell:
    """Measure one cell into ``folder``, which appears only when everything in it is whole.

    An engine that does not start or dies is a result: the cell says so and is not valid.

    Args:
        hardware: this machine in one line, for the comparability key.
        prediction: what was predicted of it; a copy is laid into the cell before its engine
            starts and is hashed with its files, so that it cannot change afterwards.
    """
    model = weights_sha256(candidate.artefact, candidate.artefact_sha256)
    progress.step("bench", f"{candidate.id} start {planned.start}: {candidate.beginning}")
    with whole_folder(folder) as inside:
        if prediction is not None:
            write_bytes(inside / frozen.SEAL, prediction.read_bytes())
        try:
            with start(
                candidate.spec,
                artefact=candidate.artefact,
                settings=settings_for(spec, candidate.spec),
                log=inside / "engine.log",
                progress=progress,
            ) as engine:
                cell = measure(
                    engine=engine,
                    candidate=candidate.id,
                    start=planned.start,
                    table=table,
                    spec=spec,
                    seed=spec.trial.seed,
                    folder=inside,
                    progress=progress,
                    hardware=hardware,
                    model_sha256=model or candidate.artefact_sha256,
                )
                key = {**cell.comparability, "artefact": candidate.artefact_sha256}
                cell = msgspec.structs.replace(cell, comparability=key)
        except EngineError as error:
            cell = failed_cell(candidate.id, planned.start, error)
        files = {p.name: sha256_file(p) for p in sorted(inside.iterdir()) if p.is_file()}
        cell = msgspec.structs.replace(cell, files=files)
        write(inside / "cell.json", cell)
    progress.step("bench", f"{candidate.id} start {planned.start}: {_outcome(cell)}")
    return cell


def _carried(artefact: Path, image_bytes: int) -> dict[str, int]:
    """What a host must hold to run it: bytes of the weights, and of the engine's environment."""
    files = [artefact] if artefact.is_file() else [p for p in artefact.rglob("*") if p.is_file()]
    sizes = {"weights_bytes": sum(p.stat().st_size for p in files)}
    return {**sizes, "image_bytes": image_bytes} if image_bytes else sizes


def _outcome(cell: Cell) -> str:
    if not cell.valid:
        return f"not valid: {'; '.join(cell.invalid_because)}"
    ttft = "none" if cell.ttft_ms.p95 is None else f"{cell.ttft_ms.p95:.0f} ms"
    tpot = "none" if cell.tpot_ms.mean is None else f"{cell.tpot_ms.mean:.1f} ms"
    done = f"{cell.requests.completed} of {cell.requests.offered} completed"
    return f"{done}, TTFT p95 {ttft}, TPOT mean {tpot}"
