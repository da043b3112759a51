"""``run``: the elimination table of a workload.

For every candidate all constraints are applied; its verdict is the worst of them and the binding
reason comes first. Where the workload names candidates they are judged, and after them, in the
role ``landscape``, every other known engine at its newest version, so that nothing has silently
been left out. The gate is pure: files' headers and facts in, a table out; it starts nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.core.ids import sha256_value
from seatrial.core.provenance import provenance
from seatrial.core.verdict import Verdict, worst
from seatrial.facts import Fact, FactStore
from seatrial.gate import (
    arguments,
    cache_types,
    conflicts,
    contracts,
    dialects,
    fits,
    flag_pairs,
    formats,
    kernels,
    layers_fit,
    lengths,
    operations,
    platforms,
    precisions,
    speculation,
    states,
    topology,
)
from seatrial.gate.candidate import every_engine, layer_of, resolve, unique_ids
from seatrial.gate.case import Case, Target
from seatrial.gate.constraint import Constraint, declared, findings
from seatrial.gate.knowledge import Knowledge
from seatrial.gate.prior import order_of_trials
from seatrial.gate.table import SCHEMA, GateRow, GateTable, Reason
from seatrial.gate.target import resolve_target
from seatrial.hardware import Host
from seatrial.model import ModelInfo
from seatrial.model import read as read_model
from seatrial.model.adapter import AdapterInfo, read_adapter
from seatrial.model.place import located
from seatrial.workload.load import relative_to
from seatrial.workload.profile import Fingerprint
from seatrial.workload.spec import CandidateSpec, Workload

LANDSCAPE = "landscape"
_ORDER = (
    arguments,
    formats,
    platforms,
    kernels,
    precisions,
    cache_types,
    topology,
    fits,
    states,
    layers_fit,
    lengths,
    conflicts,
    flag_pairs,
    contracts,
    dialects,
    speculation,
    operations,
)
_WEIGHT = {
    Verdict.INFEASIBLE: 0,
    Verdict.UNKNOWN: 1,
    Verdict.CONDITIONAL: 2,
    Verdict.DEGRADED: 3,
    Verdict.FEASIBLE: 4,
}


def run(
    spec: Workload,
    *,
    base_dir: Path,
    fingerprint: Fingerprint | None,
    facts: FactStore,
    host: Host,
    installed: dict[str, list[str]],
    landscape: bool = True,
    today: datetime.date | None = None,
) -> GateTable:
    """Judge every candidate of a workload.

    Args:
        spec: the workload. base_dir: its file's folder; relative paths start there.
        fingerprint: of its traffic, null if none is at hand.
        facts: the fact store. host: this machine. installed: engine -> versions here.
        landscape: whether engines that are not named are judged too.
        today: the day by which facts expire; null: this one.

    Returns:
        gate.json; exit codes and their meaning are the caller's.
    """
    judge = Judge(spec, base_dir, fingerprint, facts, host, installed, today)
    named = [resolve(c, facts, installed) for c in spec.candidates or []]
    rest = every_engine(spec, facts, installed) if landscape or not named else []
    rest = [c for c in rest if not any(_same(c, n) for n in named)]
    ids = unique_ids([*named, *rest])
    rows = [judge.row(c, name, c.role) for c, name in zip(named, ids, strict=False)]
    role = LANDSCAPE if named else "candidate"
    rows += [judge.row(c, name, role) for c, name in zip(rest, ids[len(named) :], strict=True)]
    return GateTable(
        schema=SCHEMA,
        candidates=order_of_trials(rows, spec, judge.case_of),
        provenance=provenance({"workload": sha256_value(spec)}),
    )


def _same(one: CandidateSpec, other: CandidateSpec) -> bool:
    """Whether the landscape row would only repeat a named candidate."""
    if one.engine != other.engine or (one.backend or "") != (other.backend or one.backend or ""):
        return False
    return one.version == other.version


class Judge:
    """Reads each model once and builds the cases."""

    def __init__(
        self,
        spec: Workload,
        base_dir: Path,
        fingerprint: Fingerprint | None,
        facts: FactStore,
        host: Host,
        installed: dict[str, list[str]],
        today: datetime.date | None = None,
    ) -> None:
        self.spec = spec
        self.base_dir = base_dir
        self.fingerprint = fingerprint
        self.facts = facts
        self.host = host
        self.installed = installed
        self.today = today
        self.target: Target = resolve_target(spec.hardware, host)
        self.case_of: dict[str, Case] = {}
        self._models: dict[str, tuple[ModelInfo | None, str | None]] = {}
        self._known: dict[tuple[str, str | None, str | None], Knowledge] = {}

    def row(self, candidate: CandidateSpec, name: str, role: str) -> GateRow:
        """One candidate's row."""
        case = self.case(candidate)
        self.case_of[name] = case
        reasons = reasons_of(case)
        return GateRow(
            candidate=name,
            engine=candidate.engine,
            version=candidate.version,
            verdict=worst(r.verdict for r in reasons),
            reasons=reasons,
            role=role,
        )

    def case(self, candidate: CandidateSpec) -> Case:
        """Everything about one candidate in one place."""
        own = candidate.artefact.path if candidate.artefact else None
        model, error = self._model(own or self.spec.model.path)
        layer = layer_of(candidate)
        key = (candidate.engine, candidate.version, layer)
        if key not in self._known:
            self._known[key] = Knowledge(self.facts, *key, self.today)
        return Case(
            spec=self.spec,
            candidate=candidate,
            model=model,
            model_error=error,
            target=self.target,
            host=self.host,
            fingerprint=self.fingerprint,
            known=self._known[key],
            installed=self.installed.get(candidate.engine, []),
            adapters=self._adapters(candidate),
        )

    def _model(self, path: str) -> tuple[ModelInfo | None, str | None]:
        if path not in self._models:
            try:
                here = located(path, self.base_dir, self.spec.model.revision)
                self._models[path] = (read_model(here or relative_to(self.base_dir, path)), None)
            except UsageError as error:
                self._models[path] = (None, error.what)
            except IntegrityError as error:
                if path == self.spec.model.path:
                    raise
                self._models[path] = (None, error.what)
        return self._models[path]

    def _adapters(self, candidate: CandidateSpec) -> list[AdapterInfo]:
        """Adapters that the flags name by folder (``name=path``, a list, or a mapping)."""
        found = []
        for flag in ("lora_modules", "lora_paths", "adapters", "lora", "lora_adapters"):
            value = candidate.args.get(flag)
            values = value if isinstance(value, list) else [value]
            values = list(value.values()) if isinstance(value, dict) else values
            for item in values[:256]:
                if isinstance(item, dict):
                    item = item.get("path")
                if isinstance(item, str):
                    info = read_adapter(relative_to(self.base_dir, item.rpartition("=")[2]))
                    found += [info] if info else []
        return found


def reasons_of(case: Case) -> list[Reason]:
    """All findings on one case, the binding reason first."""
    found: list[tuple[int, int, Reason]] = []
    for place, entry in enumerate(constraints()):
        for reason in findings(entry, case):
            found.append((_WEIGHT[reason.verdict], place, reason))
    found.sort(key=lambda item: item[:2])
    return [reason for _, _, reason in found]


@cache
def constraints() -> tuple[Constraint, ...]:
    """Every constraint, in the order in which reasons of equal weight bind: the question as such,
    then artefact, machine, kernels, placement, memory, contracts, operations, and at the end that
    nobody maintains the engine: what fails today has a number that binds, and is named first."""
    place = {module.__name__: number for number, module in enumerate(_ORDER)}
    first = ("same_layer", "model_unreadable")

    def key(entry: Constraint) -> tuple[bool, bool, int]:
        last = entry.id == "engine_unmaintained"
        return entry.id not in first, last, place[entry.rule.__module__]

    return tuple(sorted(declared().values(), key=key))


def facts_used(table: GateTable, store: FactStore) -> list[Fact]:
    """Frozen copies of the facts that the table's reasons name, for facts.json."""
    ids = {i for row in table.candidates for r in row.reasons for i in r.facts}
    return [f for i in sorted(ids) if (f := store.resolve(i)) is not None]


def only(spec: Workload, names: Sequence[str]) -> Workload:
    """The workload with only these candidates."""
    kept = [c for c in spec.candidates or [] if c.engine in names or c.name in names]
    return msgspec.structs.replace(spec, candidates=kept)
