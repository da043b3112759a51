"""A candidate's engine for a stage that measures nothing: started, used, stopped, its log kept.

The log is written beside the stage's result when the engine has stopped, also when it failed to
start: that is when somebody wants to read it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from seatrial.core.progress import Progress
from seatrial.engines import RunningEngine, settings_for, start
from seatrial.store import write_bytes
from seatrial.trial.candidate import TrialCandidate
from seatrial.workload import Workload


@contextlib.contextmanager
def started(
    candidate: TrialCandidate, spec: Workload, *, keep_log: Path, progress: Progress
) -> Iterator[RunningEngine]:
    """The candidate's engine, ready; ``keep_log`` gets its log at the end.

    Raises:
        PrerequisiteError: the engine is not installed here.
        EngineError: it did not start.
    """
    with tempfile.TemporaryDirectory(prefix="seatrial-engine-") as scratch:
        log = Path(scratch) / "engine.log"
        try:
            with start(
                candidate.spec,
                artefact=candidate.artefact,
                settings=settings_for(spec, candidate.spec),
                log=log,
                progress=progress,
            ) as engine:
                yield engine
        finally:
            with contextlib.suppress(FileNotFoundError):
                write_bytes(keep_log, log.read_bytes())
