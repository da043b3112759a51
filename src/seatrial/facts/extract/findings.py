"""What an extractor reads from, and what it writes to.

``Source`` hands out parsed files of one artefact and remembers hashes; ``Findings`` collects rows
and turns into a ``FactFile``. A locator is tried in order; a table that is missing, or smaller
than its floor, or lacks a known member, ends as *extractor-stale*, never as an empty set.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from seatrial.core.ids import sha256_bytes
from seatrial.facts import version as order
from seatrial.facts.extract.pyast import Module, Unresolved
from seatrial.facts.factfile import SCHEMA, ArtefactRef, FactFile, MemberRef, Row, Stale, row
from seatrial.facts.reach.artefact import Artefact
from seatrial.facts.record import State


class Locator(msgspec.Struct, frozen=True):
    """A place (glob) where something stands, for versions ``since <= v < until``."""

    path: str
    since: str | None = None
    until: str | None = None


class Floor(msgspec.Struct, frozen=True):
    """The least that a table must hold to be believed."""

    count: int
    members: tuple[str, ...] = ()


class Source:
    """Files of one artefact, read in batches, parsed once."""

    def __init__(self, artefact: Artefact, version: str, *, check: bool = True) -> None:
        self.artefact = artefact
        self.version = version
        self.check = check  # compare members with the artefact's own RECORD, which must be read
        self.names = artefact.names
        self._known = set(self.names)
        self._bytes: dict[str, bytes] = {}
        self._modules: dict[str, Module] = {}

    def has(self, path: str) -> bool:
        """Whether there is such a member."""
        return path in self._known

    def glob(self, *patterns: str) -> list[str]:
        """Members that match any pattern (``*`` also matches ``/``), sorted."""
        return sorted(n for n in self.names if any(fnmatch.fnmatchcase(n, p) for p in patterns))

    def locate(self, locators: Iterable[Locator]) -> str | None:
        """The first place that exists; those meant for this version are tried first."""
        listed = list(locators)
        fitting = [x for x in listed if order.within(self.version, x.since, x.until)]
        for locator in [*fitting, *(x for x in listed if x not in fitting)]:
            if found := self.glob(locator.path):
                return found[0]
        return None

    def fetch(self, paths: Iterable[str]) -> None:
        """Read several members in one go; later ``text`` and ``module`` calls are local."""
        missing = [p for p in paths if p in self._known and p not in self._bytes]
        if missing:
            self._bytes.update(self.artefact.read_many(missing))

    def data(self, path: str) -> bytes | None:
        """A member's bytes, None if it is not there."""
        self.fetch([path])
        return self._bytes.get(path)

    def text(self, path: str) -> str:
        """A member as text, "" if it is not there."""
        return (self.data(path) or b"").decode("utf-8-sig", "replace")

    def module(self, path: str) -> Module | None:
        """A parsed Python member; None if it is not there or does not parse."""
        if path not in self._modules:
            data = self.data(path)
            if data is None:
                return None
            try:
                self._modules[path] = Module(path, data)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        return self._modules[path]

    def forget(self) -> None:
        """Drop what has been read, to keep memory bounded over many versions."""
        self._bytes.clear()
        self._modules.clear()


class Findings:
    """Rows of one engine at one version, on their way to a ``FactFile``."""

    def __init__(self, source: Source, engine: str, version: str) -> None:
        self.source = source
        self.engine = engine
        self.version = version
        self._artefacts: list[ArtefactRef] = [source.artefact.ref]
        self._sources: list[Source] = [source]
        self._members: dict[tuple[int, str, str], int] = {}
        self._refs: list[MemberRef] = []
        self._claims: set[tuple[str, str, str, str | None, str | None]] = set()
        self.rows: dict[str, list[Row]] = {}
        self.stale: list[Stale] = []
        self.notes: list[str] = []

    def use(self, source: Source) -> None:
        """Read from a further artefact (an sdist beside a wheel, a kernel wheel) from now on."""
        if source not in self._sources:
            self._sources.append(source)
            self._artefacts.append(source.artefact.ref)
        self.source = source

    def need(self, place: str | Iterable[Locator]) -> Module:
        """The parsed file at a path, or at the first locator that exists. Raises Missing."""
        path = place if isinstance(place, str) else self.source.locate(place)
        module = self.source.module(path) if path else None
        if module is None:
            looked = path or ", ".join(p.path for p in place if isinstance(p, Locator))
            raise Missing(f"not found, or not Python: {looked}")
        return module

    def member(self, path: str, kind: str) -> int:
        """The number of a member in the file's table, with its hash."""
        artefact = self._sources.index(self.source)
        place = (artefact, path, kind)
        if place not in self._members:
            data = self.source.data(path) if path else None
            self._members[place] = len(self._refs)
            self._refs.append(
                MemberRef(
                    artefact=artefact,
                    path=path,
                    sha256=sha256_bytes(data) if data is not None else "",
                    checked=data is not None
                    and self.source.check
                    and self.source.artefact.checked(path, data),
                    kind=kind,
                )
            )
        return self._members[place]

    def add(
        self,
        predicate: str,
        subject: str,
        value: Any,
        path: str,
        line: int | None,
        *,
        state: State = "extracted",
        condition: str | None = None,
        layer: str | None = None,
        kind: str = "code",
        detail: dict[str, Any] | None = None,
    ) -> None:
        """One row; a row that says the same again is left out. Empty details are left out too."""
        claim = (predicate, subject, repr(value), condition, layer)
        if claim in self._claims:
            return
        self._claims.add(claim)
        kept = {k: v for k, v in (detail or {}).items() if v not in (None, [], {}, "")}
        made = row(subject, value, self.member(path, kind), line, state, condition, layer, kept)
        self.rows.setdefault(predicate, []).append(made)

    def add_binary(
        self,
        predicate: str,
        subject: str,
        value: Any,
        path: str,
        *,
        unresolved: str | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        """A row read out of a large member that was streamed, not kept: no line, no member hash."""
        place = (self._sources.index(self.source), path, "binary")
        if place not in self._members:
            self._members[place] = len(self._refs)
            self._refs.append(MemberRef(artefact=place[0], path=path, kind="binary"))
        state: State = "unresolved" if unresolved else "extracted"
        number = self._members[place]
        kept = {k: v for k, v in (detail or {}).items() if v not in (None, [], {}, "")}
        made = row(subject, value, number, None, state, unresolved, None, kept)
        self.rows.setdefault(predicate, []).append(made)

    def step(
        self,
        predicate: str,
        read: Callable[[], object],
        *,
        floor: Floor | None = None,
        looked_at: Iterable[str] = (),
    ) -> None:
        """Run one reader. If it fails or finds too little, the predicate is extractor-stale.

        What a stale reader did find is thrown away: half a table would be taken for a whole one.
        """
        before = len(self.rows.get(predicate, []))
        why = ""
        try:
            read()
        except Missing as missing:
            why = str(missing)
        except Unresolved as text:
            why = f"computed when the engine runs: {text}"
        found = self.rows.get(predicate, [])[before:]
        if not why and floor is not None:
            subjects = {r[0] for r in found}
            lacking = [m for m in floor.members if m not in subjects]
            if len(subjects) < floor.count:
                why = f"{len(subjects)} found, at least {floor.count} expected"
            elif lacking:
                why = f"{', '.join(lacking)} not among them"
        if why:
            if predicate in self.rows:
                del self.rows[predicate][before:]
            self.stale.append(Stale(predicate=predicate, why=why, looked_at=list(looked_at)))

    def file(self, *, released: str | None, verified_on: str, extractor: str) -> FactFile:
        """All of it as one document."""
        return FactFile(
            schema=SCHEMA,
            engine=self.engine,
            version=self.version,
            released=released,
            verified_on=verified_on,
            extractor=extractor,
            artefacts=self._artefacts,
            members=self._refs,
            rows={p: r for p, r in self.rows.items() if r},
            stale=self.stale,
            notes=self.notes,
        )


class Missing(Exception):
    """A table is not where it was expected."""
