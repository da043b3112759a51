"""The whole of a trial, stage after stage, over one folder.

    workload -> traffic -> fingerprint -> facts, gate -> artefacts -> probes -> plan
             -> quality -> cells -> decision -> dossier -> manifest

Each stage is artefact in, artefact out. What exists is kept and what is missing is made, so that a
killed run goes on where it stopped: no finished cell is measured twice and none is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from seatrial import decide, dossier, gate, plan
from seatrial.bench import Cell
from seatrial.core.errors import IntegrityError
from seatrial.core.ids import sha256_file
from seatrial.core.progress import Progress, Silent
from seatrial.core.units import GIB
from seatrial.decide import Decision
from seatrial.engines import installed
from seatrial.facts import FactStore
from seatrial.facts import load as load_facts
from seatrial.gate import GateTable
from seatrial.hardware import Host, detect
from seatrial.model.place import weights
from seatrial.plan import Plan
from seatrial.probe import elimination
from seatrial.probe.elimination import after_probes
from seatrial.quality import QualityResult
from seatrial.store import read, write
from seatrial.trace import RequestTable
from seatrial.trial.candidate import (
    TrialCandidate,
    identity,
    named,
    on_trial,
    prepare,
    reference_of,
)
from seatrial.trial.check import check_quality
from seatrial.trial.events import EventLog
from seatrial.trial.folder import EVENTS, TrialFolder
from seatrial.trial.foretell import foretell
from seatrial.trial.frozen import freeze
from seatrial.trial.manifest import write_manifest
from seatrial.trial.measure import measure_cell
from seatrial.trial.probing import probe_all, worth_probing
from seatrial.trial.resolved import resolve, traffic_identity
from seatrial.workload import (
    Fingerprint,
    LoadedWorkload,
    fingerprint,
    load,
    resolve_traffic,
)

T = TypeVar("T", bound=msgspec.Struct)
"""Artefacts that a stage makes once."""


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """Where the trial is, and what it decided."""

    folder: Path
    decision: Decision
    table: GateTable
    cells: list[Cell]
    quality: dict[str, QualityResult]


def run(
    workload: Path, *, out: Path | None = None, progress: Progress | None = None
) -> TrialResult:
    """Run the trial of a workload file, or what is left of it.

    Args:
        workload: the workload file.
        out: the trial's folder; ``trials/NAME`` under the working directory if None.

    Raises:
        SeatrialError: as each stage; what was finished before stays and is not repeated.
    """
    loaded = load(workload)
    folder = TrialFolder(out or Path("trials") / loaded.spec.name)
    with folder.locked():
        folder.adopt(loaded.raw)
        log = EventLog(folder.file(EVENTS), progress or Silent())
        try:
            for left in folder.sweep():
                log.step("resume", f"removed what a killed run left half-written: {left.name}")
            return _Run(folder, loaded, log).all()
        finally:
            log.close()


class _Run:
    """One pass over the stages; holds what later stages read."""

    def __init__(self, folder: TrialFolder, loaded: LoadedWorkload, progress: Progress) -> None:
        self.folder = folder
        self.loaded = loaded
        self.spec = loaded.spec
        self.base = loaded.path.parent
        self.model = weights(self.spec.model.path, self.base, self.spec.model.revision)
        self.progress = progress
        self.not_run = {
            "lifecycle": "not part of this command: seatrial lifecycle WORKLOAD",
        }

    def all(self) -> TrialResult:
        facts = load_facts()
        table, host, print_ = self._traffic(facts)
        verdicts, candidates = self._probe(self._gate(print_, facts, host))
        survivors = self._plan(verdicts, print_, table)
        candidates = {arm.candidate: candidates[arm.candidate] for arm in survivors.survivors}
        quality = self._quality(candidates)
        cells = self._bench(survivors, candidates, table, described(host))
        decision = self._decide()
        self._dossier()
        return TrialResult(
            folder=self.folder.path,
            decision=decision,
            table=verdicts,
            cells=cells,
            quality=quality,
        )

    def _kept(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        path = self.folder.file(name)
        if path.exists():
            return read(path, kind)
        made = make()
        write(path, made)
        return made

    def _traffic(self, facts: FactStore) -> tuple[RequestTable, Host, Fingerprint]:
        self.progress.step("profile", "reading the traffic")
        traffic = resolve_traffic(self.loaded)
        table = traffic.table
        host = detect()
        resolved = resolve(
            self.folder.file("workload.resolved.json"),
            spec=named(self.spec, facts, installed()),
            traffic=traffic,
            traffic_sha256=traffic_identity(table),
            model_sha256=identity(self.model),
            host=host,
        )
        self.spec = resolved.workload
        print_ = self._kept("fingerprint.json", Fingerprint, lambda: fingerprint(table))
        self.progress.step("profile", f"{table.n} requests; {print_.pressure.label}")
        return table, host, print_

    def _gate(self, print_: Fingerprint, facts: FactStore, host: Host) -> GateTable:
        def make() -> GateTable:
            return gate.run(
                self.spec,
                base_dir=self.base,
                fingerprint=print_,
                facts=facts,
                host=host,
                installed=installed(),
            )

        table = self._kept("gate.json", GateTable, make)
        path = self.folder.file("facts.json")
        if not path.exists():
            write(path, freeze(table, facts))
        for row in table.candidates:
            why = row.reasons[0].says if row.reasons else ""
            self.progress.step("gate", f"{row.candidate}: {row.verdict.value}; {why}")
        return table

    def _probe(self, table: GateTable) -> tuple[GateTable, dict[str, TrialCandidate]]:
        """The elimination table after probing, and the weights of whoever was worth it."""
        specs = on_trial(self.spec, worth_probing(table))
        candidates = {
            name: prepare(name, spec, self.model, self.base, self.progress)
            for name, spec in specs.items()
        }
        reports = probe_all(
            self.folder, list(candidates.values()), spec=self.spec, progress=self.progress
        )
        if not reports:
            self.not_run["probes"] = "no candidate could be started here"
        merged = self._kept(elimination.NAME, GateTable, lambda: after_probes(table, reports))
        return merged, candidates

    def _plan(self, table: GateTable, print_: Fingerprint, requests: RequestTable) -> Plan:
        minutes = _span_minutes(requests)
        made = self._kept(
            "plan.json",
            Plan,
            lambda: plan.make(self.spec, table, fingerprint=print_, minutes_per_cell=minutes),
        )
        for note in made.notes:
            self.progress.step("plan", note)
        return made

    def _quality(self, candidates: dict[str, TrialCandidate]) -> dict[str, QualityResult]:
        reference = reference_of(list(candidates.values()))
        if reference is None:
            self.not_run["quality"] = "no candidate reached it"
            return {}
        return check_quality(
            self.folder,
            list(candidates.values()),
            reference,
            spec=self.spec,
            progress=self.progress,
        )

    def _bench(
        self,
        made: Plan,
        candidates: dict[str, TrialCandidate],
        table: RequestTable,
        hardware: str,
    ) -> list[Cell]:
        cells = [self._finished(path) for path in self.folder.finished_cells()]
        while (planned := plan.next_cell(made, cells)) is not None:
            candidate = candidates[planned.candidate]
            cells.append(
                measure_cell(
                    self.folder.cell(planned.candidate, planned.start),
                    planned,
                    candidate,
                    spec=self.spec,
                    table=table,
                    hardware=hardware,
                    progress=self.progress,
                    prediction=foretell(self.folder, planned, self.progress),
                )
            )
            planned_cells = max(len(made.cells), len(cells))  # the sequential plan may add some
            self.progress.amount("bench", len(cells), planned_cells, "cells")
        if not cells:
            self.not_run["cells"] = "no candidate reached it"
        self.not_run["predictions"] = "no start had an earlier one to be predicted from"
        return cells

    def _finished(self, path: Path) -> Cell:
        cell = read(path / "cell.json", Cell)
        for name, expected in cell.files.items():
            if not (path / name).is_file() or sha256_file(path / name) != expected:
                raise IntegrityError(
                    f"{name} of a finished cell is not what was written",
                    where=str(path),
                    unchanged="the trial is left as it is",
                    remedy="move that cell's folder away and run again: it is measured anew",
                )
        return cell

    def _decide(self) -> Decision:
        decision = decide.decide_folder(self.folder.path)
        write(self.folder.file("decision.json"), decision)
        self.progress.step("decide", decision.outcome)
        return decision

    def _dossier(self) -> None:
        write_manifest(self.folder.path, self.not_run)
        self.progress.step("dossier", "writing the dossier")
        dossier.build(self.folder.path, progress=self.progress)
        write_manifest(self.folder.path, self.not_run)


def described(host: Host) -> str:
    """The machine in one line: equal lines are the same hardware for a comparison."""
    gpus = ", ".join(device.product for device in host.gpus) or "no GPU"
    memory = round(host.usable_memory_bytes / GIB)
    return f"{host.cpu_name}, {host.usable_cores:g} cores, {memory} GiB, {gpus}"


def _span_minutes(requests: RequestTable) -> float | None:
    """What one cell takes at least: its traffic's own length; null where it has no times."""
    if requests.arrival_ns is None or requests.n < 2:
        return None
    return float(requests.arrival_ns.max() - requests.arrival_ns.min()) / 60e9
