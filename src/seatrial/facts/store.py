"""All facts at hand: the shipped snapshot, and over it what this user has read since.

Loading reads two tables of contents and nothing else; the facts of an engine's version are
decoded when somebody asks for them. A version that was never read is answered with the facts of
the nearest older one that was, and says so (``exact`` is False): facts never travel back in time.
"""

from __future__ import annotations

import zipfile
from importlib import resources
from pathlib import Path

import msgspec

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.core.folders import home_dir
from seatrial.facts import history
from seatrial.facts import version as order
from seatrial.facts.factfile import (
    Documented,
    FactFile,
    decode,
    decode_documented,
    documented_fact,
)
from seatrial.facts.factset import UNKNOWN, FactSet
from seatrial.facts.record import Fact

ENGINES = (
    "vllm",
    "sglang",
    "tensorrt-llm",
    "lmdeploy",
    "tgi",
    "llama.cpp",
    "ollama",
    "mlc-llm",
    "transformers",
)
"""The engines of the workload file. The snapshot also knows their plugins and kernel wheels."""

KERNEL_WHEELS: dict[str, tuple[str, ...]] = {"sglang": ("sglang-kernel", "sgl-kernel")}
"""Engines whose device code is in a wheel of its own, pinned by an exact requirement."""

_DOCUMENT_MAX = 64 << 20


class FactStore:
    """Facts of all engines; ``load()`` makes one."""

    def __init__(self, snapshot: Path | None, user: Path | None) -> None:
        self._snapshot = snapshot
        self._user = user
        self._places: dict[str, dict[str, str | Path]] = {}
        self._sets: dict[tuple[str, str], FactSet] = {}
        self._documents: dict[str, list[Documented]] = {}
        self._by_hand: dict[tuple[str, str], list[Fact]] = {}
        self._histories: dict[str, history.History | None] = {}
        self._archive: zipfile.ZipFile | None = None
        self._index()

    def _index(self) -> None:
        if self._snapshot is not None and self._snapshot.exists():
            try:
                self._archive = zipfile.ZipFile(self._snapshot)
            except (zipfile.BadZipFile, OSError) as error:
                raise _damaged(self._snapshot, str(error)) from error
            for name in self._archive.namelist():
                engine, _, rest = name.partition("/")
                if rest.endswith(".json"):
                    self._places.setdefault(engine, {})[rest.removesuffix(".json")] = name
        if self._user is not None and self._user.is_dir():
            for path in sorted(self._user.glob("*/*.json")):
                self._places.setdefault(path.parent.name, {})[path.stem] = path

    def engines(self) -> list[str]:
        """Names that the store knows, the nine engines first."""
        return [*ENGINES, *sorted(set(self._places) - set(ENGINES))]

    def versions(self, engine: str) -> list[str]:
        """Versions whose artefact was read, oldest first."""
        return sorted(self._places.get(engine, {}), key=order.key)

    def newest(self, engine: str, *, prerelease: bool = False) -> str | None:
        """The newest version read; release candidates count only where nothing else was read."""
        known = self.versions(engine)
        final = [v for v in known if prerelease or not order.is_prerelease(v)]
        best = final or known
        return best[-1] if best else None

    def engine(self, name: str, version: str | None = None) -> FactSet:
        """The facts for an engine at a version (None: the newest known).

        Raises:
            UsageError: no such engine.
            IntegrityError: the stored document is damaged.
        """
        if name not in ENGINES and name not in self._places:
            raise UsageError(
                f"no engine called {name} is known",
                where="facts",
                remedy=f"one of {', '.join(self.engines())}",
            )
        newest = self.newest(name)
        asked = version or newest or UNKNOWN
        cached = self._sets.get((name, asked))
        if cached is None:
            stored = self._resolve(name, asked)
            file = self._read(name, stored) if stored else None
            companions = self._companions(name, file)
            past = None if file and order.same(file.version, asked) else self._past(name, asked)
            cached = FactSet(name, asked, file, self._documented(name), newest, companions, past)
            self._sets[name, asked] = cached
        return cached

    def _past(self, engine: str, version: str) -> history.View | None:
        """What registries of releases without a full reading say of a version."""
        if engine not in self._histories:
            self._histories[engine] = history.load(engine)
        told = self._histories[engine]
        if told is None or not order.ordered(version):
            return None
        artefacts = {v[0]: v[2] for v in told.versions}
        listed = sorted({*artefacts, *self.versions(engine)}, key=order.key)
        sides = history.neighbours(listed, version)
        predicates = frozenset(row[0] for row in told.rows)
        tables = {}
        days = {v[0]: v[1] for v in told.versions}
        for side in {s for s in sides if s is not None}:
            if side in artefacts:
                tables[side] = history.table(told, side)
            else:
                file = self._read(engine, side)
                artefacts[side] = file.artefacts[0].name if file.artefacts else side
                days[side] = file.released or ""
                tables[side] = history.table_of(file, predicates)
        later = [v for v in listed if order.key(v) > order.key(version)]
        until = later[0] if later else None
        day = days.get(sides[1] or "") or None
        return history.view(version, sides, tables, artefacts, until, told.verified_on, day)

    def _companions(self, engine: str, file: FactFile | None) -> list[FactSet]:
        """Facts of the kernel wheels that this version pins exactly and that were read."""
        found = []
        for row in file.rows.get("requires", []) if file else ():
            pinned = isinstance(row[1], str) and row[1].startswith("==")
            if row[0] in KERNEL_WHEELS.get(engine, ()) and pinned:
                facts = self.engine(row[0], row[1][2:]) if row[0] in self._places else None
                if facts is not None and facts.exact:
                    found.append(facts)
        return found

    def _resolve(self, engine: str, version: str) -> str | None:
        known = self.versions(engine)
        for candidate in known:
            if order.same(candidate, version):
                return candidate
        if not order.ordered(version):
            return None
        older = [v for v in known if order.ordered(v) and order.key(v) <= order.key(version)]
        return older[-1] if older else None

    def _read(self, engine: str, version: str) -> FactFile:
        place = self._places[engine][version]
        try:
            if isinstance(place, Path):
                with place.open("rb") as file:
                    return decode(file.read(_DOCUMENT_MAX))
            assert self._archive is not None
            with self._archive.open(place) as member:
                return decode(member.read(_DOCUMENT_MAX))
        except (OSError, zipfile.BadZipFile, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _damaged(place, str(error)) from error

    def _documented(self, engine: str) -> list[Documented]:
        """Hand-entered facts: the engine's own file, what the gate's cases rest on, and what its
        builds ask of the machine."""
        if engine not in self._documents:
            folder = resources.files("seatrial.facts").joinpath("documented")
            files = [folder.joinpath(f"{part}{engine}.json") for part in ("", "gate/", "hosts/")]
            self._documents[engine] = [
                entry for f in files if f.is_file() for entry in decode_documented(f.read_bytes())
            ]
        return self._documents[engine]

    def documented(self, engine: str, predicate: str) -> list[Fact]:
        """Every hand-entered fact of an engine, whichever versions it holds for, each as of the
        first version it holds for (so that its id resolves)."""
        key = (engine, predicate)
        if key not in self._by_hand:
            self._by_hand[key] = [
                documented_fact(engine, d.since or "0", d)
                for d in self._documented(engine)
                if d.predicate == predicate
            ]
        return self._by_hand[key]

    def resolve(self, fact_id: str) -> Fact | None:
        """The fact with this id, from whichever engine and version it names."""
        head, _, rest = fact_id.partition("/")
        engine, _, version = head.partition("==")
        if not rest or (engine not in ENGINES and engine not in self._places):
            return None
        return self.engine(engine, version).find(fact_id)

    def close(self) -> None:
        """Close the archive; the store cannot be used afterwards."""
        if self._archive is not None:
            self._archive.close()


def _damaged(place: str | Path, why: str) -> IntegrityError:
    return IntegrityError(
        f"stored facts are damaged: {why}",
        where=str(place),
        unchanged="the file is left as it is",
        remedy="seatrial facts sync reads them again; reinstall if it is the shipped snapshot",
    )


def snapshot_path() -> Path:
    """The shipped snapshot's file."""
    return Path(str(resources.files("seatrial.facts").joinpath("snapshot.zip")))


def user_folder() -> Path:
    """Where ``facts sync`` keeps what it has read: ENGINE/VERSION.json."""
    return home_dir() / "facts"


def load(*, snapshot: Path | None = None, user: Path | None = None) -> FactStore:
    """The store of this machine: the shipped snapshot and the user's own readings over it."""
    return FactStore(snapshot or snapshot_path(), user or user_folder())
