"""A candidate's engine for a stage that measures nothing: started, used, stopped, its log kept.

The log is written beside the stage's result when the engine has stopped, also when it failed to
start: that is when somebody wants to read it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from seatrial.core.errors import EngineError
from seatrial.core.progress import Progress
from seatrial.engines import RunningEngine, settings_for, start
from seatrial.store import scratch, write_bytes
from seatrial.trial.candidate import TrialCandidate
from seatrial.workload import Workload


@contextlib.contextmanager
def started(
    candidate: TrialCandidate, spec: Workload, *, keep_log: Path, progress: Progress
) -> Iterator[RunningEngine]:
    """The candidate's engine, ready; ``keep_log`` gets its log at the end.

    Raises:
        PrerequisiteError: the engine is not installed here.
        EngineError: it did not start; the message names ``keep_log``.
    """
    with scratch("engine") as folder:
        log = folder / "engine.log"
        try:
            with start(
                candidate.spec,
                artefact=candidate.artefact,
                settings=settings_for(spec, candidate.spec),
                log=log,
                progress=progress,
            ) as engine:
                yield engine
        except EngineError as error:
            error.where = error.where.replace(str(log), str(keep_log))
            raise
        finally:
            with contextlib.suppress(FileNotFoundError):
                write_bytes(keep_log, log.read_bytes())
