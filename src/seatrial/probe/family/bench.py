"""What every family trial works with: how to start this candidate, and how to ask it.

One streamed answer at a time by ``probe.subject``; several at once by threads, which is enough for
the few requests of a trial and is not the load generator. Memory is that of the process tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil

from seatrial.core.errors import EngineError
from seatrial.core.progress import Progress
from seatrial.engines import RunningEngine, Settings, start
from seatrial.probe.subject import Spoken, Subject
from seatrial.workload import CandidateSpec, Workload

WORD = " sea"


@dataclass(frozen=True, slots=True)
class Stand:
    """One candidate on a family's stand; ``folder`` takes the engines' logs."""

    spec: Workload
    candidate: CandidateSpec
    artefact: Path
    settings: Settings
    folder: Path
    progress: Progress

    def start(self, name: str, artefact: Path | None = None, **changes: Any) -> RunningEngine:
        """Start the candidate; its log is ``NAME.engine.log``."""
        return start(
            self.candidate,
            artefact=artefact or self.artefact,
            settings=msgspec.structs.replace(self.settings, **changes),
            log=self.folder / f"{name}.engine.log",
            progress=self.progress,
        )

    def subject(self, engine: RunningEngine) -> Subject:
        """The engine as one that is asked."""
        return Subject(engine, self.spec.requires, self.spec.trial.seed)


def resident(pid: int | None) -> int | None:
    """Resident bytes of a process tree; shared pages count once in each process."""
    if pid is None:
        return None
    try:
        root = psutil.Process(pid)
        return sum(p.memory_info().rss for p in [root, *root.children(recursive=True)])
    except psutil.Error:
        return None


def words_for(subject: Subject, tokens: int) -> str:
    """Text of about ``tokens`` tokens that begins as no other does."""
    head = f"{subject.nonce()}:"
    try:
        per = len(subject.engine.tokenize(WORD * 64)) / 64
        used = len(subject.engine.tokenize(head))
    except EngineError:
        per, used = 1.0, 8  # one token a word is then the assumption
    return head + WORD * max(1, round((tokens - used) / per))


def forced(subject: Subject) -> dict[str, Any]:
    """The field that keeps an answer going to its last token, where the engine has one."""
    return {"ignore_eos": True} if subject.engine.adapter.ignore_eos else {}


def at_once(calls: Sequence[Callable[[], Spoken]]) -> list[Spoken]:
    """All calls at the same time."""
    with ThreadPoolExecutor(max(1, len(calls))) as pool:
        return [f.result() for f in [pool.submit(call) for call in calls]]


def made_per_s(spoken: Spoken) -> float | None:
    """Output tokens per second after the first one, by usage where it is given."""
    made = (spoken.usage or {}).get("completion_tokens")
    tokens = made if isinstance(made, int) else len(spoken.content_ms)
    if tokens < 2 or len(spoken.content_ms) < 2:
        return None
    span = (spoken.content_ms[-1] - spoken.content_ms[0]) / 1e3
    return (tokens - 1) / span if span > 0 else None


def rounded(value: float | None, digits: int = 1) -> float | None:
    """For a table."""
    return None if value is None else round(value, digits)
