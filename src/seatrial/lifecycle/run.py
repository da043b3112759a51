"""All lifecycle trials of one candidate, one after another, each on an engine of its own start."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import EngineError, UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import now_utc, provenance
from seatrial.engines import Environment, RunningEngine, Settings, settings_for
from seatrial.lifecycle.change import upgrade_and_back
from seatrial.lifecycle.earlier import NOT_ASKED, RESULTS, merged
from seatrial.lifecycle.endurance import endurance
from seatrial.lifecycle.memory import pressure, resident_bytes
from seatrial.lifecycle.record import (
    SCHEMA,
    Change,
    Drain,
    LifecycleReport,
    NotRun,
    Trial,
    judged,
)
from seatrial.lifecycle.restarts import FULL, full_log, port_clash, restart_loop
from seatrial.lifecycle.signals import drain, hang, kill
from seatrial.lifecycle.stage import Stage
from seatrial.workload.spec import CandidateSpec, Workload

TRIALS = tuple(name for name in RESULTS if name != "endurance")
RESTARTS = 2


def run(
    spec: Workload,
    candidate: CandidateSpec,
    artefact: Path,
    *,
    name: str,
    folder: Path,
    settings: Settings | None = None,
    upgrade_to: Environment | None = None,
    only: Collection[str] | None = None,
    endurance_s: float = 0.0,
    earlier: LifecycleReport | None = None,
    progress: Progress | None = None,
    keep: Callable[[LifecycleReport], object] | None = None,
) -> LifecycleReport:
    """Put one candidate through its lifecycle.

    Args:
        spec: limits are its ``operations``, the TTFT limit its ``slo``.
        folder: takes the engines' logs; made if it is not there.
        upgrade_to: environment of the version to change to; None: the same version again.
        only: names out of ``TRIALS``; None: all.
        endurance_s: how long to load it in search of drift; 0: not at all.
        earlier: the candidate's last report; what is not tried now is taken from it.
        keep: told the report so far after each trial, so that an interruption loses none of it.

    Raises:
        UsageError: the candidate is a foreign endpoint, which nobody here may kill.
    """
    if candidate.endpoint:
        raise UsageError(
            "an endpoint that someone else runs cannot be put through a lifecycle",
            where=candidate.endpoint,
            unchanged="nothing was sent to it",
            remedy="name the engine without an endpoint: seatrial then starts its own",
        )
    folder.mkdir(parents=True, exist_ok=True)
    stage = Stage(
        spec,
        candidate,
        artefact,
        settings or settings_for(spec, candidate),
        folder,
        progress or Silent(),
    )
    wanted = set(TRIALS if only is None else only)
    book = _Book(stage)
    made: set[str] = set()
    for place, trial in enumerate(TRIALS, 1):
        if trial in wanted:
            stage.progress.step("lifecycle", f"{name}: {trial}")
            book.run(trial, upgrade_to)
            made.add(trial)
            if keep is not None:
                left = [later for later in TRIALS[place:] if later in wanted]
                keep(merged(book.so_far(name, left), earlier, made))
        else:
            book.skip(trial, NOT_ASKED)
    if endurance_s > 0:
        stage.progress.step("lifecycle", f"{name}: endurance, {endurance_s:.0f} s")
        book.endure(endurance_s)
        made.add("endurance")
    else:
        book.skip("endurance", f"{NOT_ASKED}: --endurance-s gives it a time")
    return merged(book.report(name), earlier, made)


class _Book:
    """Collects results; one method per trial."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.trials: list[Trial] = []
        self.not_run: list[NotRun] = []
        self.cold: dict[str, float | None] = {}
        self.warm: dict[str, float | None] | None = None
        self.resident = 0
        self.version = ""
        self.drain: Drain | None = None
        self.recovery_s: float | None = None
        self.changes: tuple[Change, Change] | None = None

    def skip(self, name: str, because: str) -> None:
        """Count a trial that was not made."""
        self.not_run.append(NotRun(id=name, because=because))

    def run(self, name: str, upgrade_to: Environment | None) -> None:
        """One trial; an engine that fails in it fails the trial."""
        if name == "change":
            self._guarded(name, lambda: self._change(upgrade_to))
        else:
            self._guarded(name, getattr(self, f"_{name}"))

    def endure(self, seconds: float) -> None:
        """The one trial whose length the caller chooses."""
        self._guarded("endurance", lambda: self._endurance(seconds))

    def _guarded(self, name: str, trial: Callable[[], None]) -> None:
        before = len(self.trials)
        try:
            trial()
        except EngineError as error:
            self.trials.append(
                Trial(
                    id=name,
                    verdict="fail",
                    value=None,
                    limit=None,
                    unit="s",
                    evidence={"says": error.what, "where": error.where[-1500:]},
                )
            )
        new = [msgspec.structs.replace(t, at=now_utc()) for t in self.trials[before:]]
        self.trials[before:] = new

    def _start(self) -> None:
        limit = self.stage.spec.operations.cold_start_s
        with self.stage.start("cold") as engine:
            self._first(engine)
        self.trials.append(judged("cold_start", self.cold["total"], limit, split=self.cold))

    def _first(self, engine: RunningEngine) -> None:
        if not self.cold:
            self.cold = engine.cold_start_s
            self.version = engine.environment.version
            self.resident = resident_bytes(engine.pid or 0)
        elif self.warm is None:
            self.warm = engine.cold_start_s

    def _drain(self) -> None:
        limit = self.stage.spec.operations.drain_s
        with self.stage.start("drain") as engine:
            self._first(engine)
            self.drain = found = drain(self.stage, engine)
            says = engine.adapter.drain
        seen: dict[str, Any] = {"documented": says, "cut": found.cut, "killed": found.killed}
        trial = judged("drain", found.s, limit, **seen)
        if found.killed:  # it did not end by itself within the grace: no time makes that good
            trial = msgspec.structs.replace(trial, verdict="fail")
        self.trials.append(trial)

    def _kill(self) -> None:
        with self.stage.start("kill") as engine:
            self._first(engine)
            found = kill(self.stage, engine)
        self.recovery_s = found["recovery_s"]
        limit = self.stage.spec.operations.recovery_s
        self.trials.append(judged("recovery", self.recovery_s, limit, **found))

    def _hang(self) -> None:
        with self.stage.start("hang") as engine:
            self._first(engine)
            found = hang(self.stage, engine)
        seen = found["detected_after_s"] if found["detected_by"] != "nothing" else None
        self.trials.append(judged("hang_detection", seen, None, **found))

    def _restart(self) -> None:
        found = restart_loop(self.stage, RESTARTS)
        limit = self.stage.spec.operations.cold_start_s
        self.trials.append(judged("restart", max(found["total_s"]), limit, **found))

    def _port(self) -> None:
        found = port_clash(self.stage)
        self.trials.append(_yes_or_no("port_clash", found["refused"], found))

    def _log(self) -> None:
        if not FULL.exists():
            self.skip("log", "this system has no /dev/full")
            return
        found = full_log(self.stage)
        self.trials.append(_yes_or_no("full_log", found["answers"], found))

    def _memory(self) -> None:
        if not self.resident:
            with self.stage.start("memory-before") as engine:
                self._first(engine)
        found = pressure(self.stage, self.resident)
        if found is None:
            self.skip("memory", "no cgroup may be made here")
            return
        self.trials.append(_yes_or_no("memory_pressure", found["answers"], found))

    def _endurance(self, seconds: float) -> None:
        with self.stage.start("endurance") as engine:
            self._first(engine)
            found = endurance(self.stage, engine, seconds)
        unfinished = sum(n for fate, n in found["fates"].items() if fate != "finished")
        good = found["alive_at_the_end"] and unfinished == 0
        self.trials.append(_yes_or_no("endurance", good, found))

    def _change(self, upgrade_to: Environment | None) -> None:
        self.changes = up, back = upgrade_and_back(self.stage, upgrade_to)
        limits = self.stage.spec.operations
        for name, change, limit in (
            ("upgrade", up, limits.upgrade_s),
            ("rollback", back, limits.rollback_s),
        ):
            evidence = msgspec.structs.asdict(change)
            del evidence["s"]  # it is the value
            self.trials.append(judged(name, change.s, limit, **evidence))

    def so_far(self, name: str, left: Collection[str]) -> LifecycleReport:
        """As it would stand if it ended here."""
        cut = [NotRun(id=trial, because="interrupted before it") for trial in left]
        report = self.report(name)
        return msgspec.structs.replace(report, trials=[*self.trials], not_run=[*self.not_run, *cut])

    def report(self, name: str) -> LifecycleReport:
        """The whole of it."""
        return LifecycleReport(
            schema=SCHEMA,
            candidate=name,
            engine=self.stage.candidate.engine,
            version=self.version,
            cold_start_s=self.cold,
            warm_start_s=self.warm,
            drain=self.drain,
            recovery_s=self.recovery_s,
            upgrade=self.changes[0] if self.changes else None,
            rollback=self.changes[1] if self.changes else None,
            trials=self.trials,
            not_run=self.not_run,
            provenance=provenance(),
        )


def _yes_or_no(name: str, good: bool, evidence: dict[str, Any]) -> Trial:
    """A trial without a number."""
    return Trial(
        id=name,
        verdict="pass" if good else "fail",
        value=None,
        limit=None,
        unit="",
        evidence=evidence,
    )
