"""All facts at hand: the shipped snapshot, and over it what this user has read since.

Loading reads two tables of contents and nothing else; the facts of an engine's version are
decoded when somebody asks for them. A version that was never read is answered with the facts of
the nearest older one that was, and says so (``exact`` is False): facts never travel back in time.
"""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterable
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.core.folders import home_dir
from seatrial.facts import version as order
from seatrial.facts.factfile import (
    Documented,
    FactFile,
    decode,
    decode_documented,
    documented_fact,
    facts_of,
)
from seatrial.facts.record import Fact, Source, expiry, fact_id

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

UNKNOWN = "unknown"
"""The version of a set for which no version was named and none was ever read."""

ONE_VALUE = frozenset(
    [
        "architecture",
        "quantization",
        "min_capability",
        "weight_format",
        "kv_cache_dtype",
        "supports",
        "platform",
        "maintenance",
        "lora_limit",
        "cuda_targets",
        "attention_backend",
    ]
)
"""Predicates of which a subject has one value: two different ones are a contradiction."""

KERNEL_WHEELS: dict[str, tuple[str, ...]] = {"sglang": ("sglang-kernel", "sgl-kernel")}
"""Engines whose device code is in a wheel of its own, pinned by an exact requirement."""

PLATFORM_LAYERS = frozenset({"rocm", "npu", "cpu", "xpu", "mps", "musa", "hpu", "tpu"})
"""Layers that are platforms other than CUDA: seen only when asked for by name."""

_DOCUMENT_MAX = 64 << 20


class FactSet:
    """The facts that hold for one engine at one version.

    Attributes:
        engine, version: what was asked for.
        resolved: the version whose artefact was read (None: documented facts alone).
        exact: whether ``resolved`` is the version asked for.
        released: day of that release, None if not known.
        newest: the newest version of the engine in the store, None if none was read.
        stale: extractors that failed there: their predicates are unknown, not empty.
    """

    def __init__(
        self,
        engine: str,
        version: str,
        file: FactFile | None,
        documented: Iterable[Documented],
        newest: str | None,
        companions: Iterable[FactSet] = (),
    ) -> None:
        self.engine = engine
        self.version = version
        self.file = file
        self.resolved = file.version if file else None
        self.exact = file is not None and order.same(file.version, version)
        self.released = file.released if file else None
        self.newest = newest
        self.stale = list(file.stale) if file else []
        self.notes = list(file.notes) if file else []
        self._documented = [d for d in documented if _holds(d, version)]
        self._companions = list(companions)

    @cached_property
    def facts(self) -> list[Fact]:
        """Every fact, extracted ones first, each as it stands.

        The same claim, word for word, is kept once: as it was extracted, else as entered first.
        CUDA targets of the kernel wheel that this version pins are its own; their ids name the
        wheel.
        """
        read = facts_of(self.file) if self.file else []
        for companion in self._companions:
            read += [f for f in companion.facts if f.predicate == "cuda_targets"]
        by_hand = [documented_fact(self.engine, self.version, d) for d in self._documented]
        return list({fact.id: fact for fact in reversed(read + by_hand)}.values())[::-1]

    @cached_property
    def _by_subject(self) -> dict[tuple[str, str], list[Fact]]:
        table: dict[tuple[str, str], list[Fact]] = {}
        for fact in self.facts:
            table.setdefault((fact.predicate, fact.subject), []).append(fact)
        return table

    @cached_property
    def _by_id(self) -> dict[str, Fact]:
        return {fact.id: fact for fact in self.facts}

    def get_all(self, predicate: str, subject: str, *, layer: str | None = None) -> list[Fact]:
        """Every fact on one subject: heaviest evidence first, then the unconditional ones.

        ``layer`` is a part of the engine or a platform other than CUDA; it leaves out others.
        """
        found = self._by_subject.get((predicate, subject), [])
        return sorted(
            (f for f in found if _on_layer(f, layer)),
            key=lambda f: (-f.rank, f.condition is not None),
        )

    def get(self, predicate: str, subject: str, *, layer: str | None = None) -> Fact | None:
        """The fact that binds, None if there is none.

        The heaviest evidence binds. For ``min_capability`` every layer must agree (DESIGN 6), so
        the largest number binds, whoever says it.
        """
        found = self.get_all(predicate, subject, layer=layer)
        if predicate == "min_capability":
            numbers = [f for f in found if isinstance(f.value, int)]
            return max(
                numbers, key=lambda f: (f.value, f.rank), default=found[0] if found else None
            )
        return found[0] if found else None

    def all(self, predicate: str, *, layer: str | None = None) -> list[Fact]:
        """Every fact with this predicate."""
        return [f for f in self.facts if f.predicate == predicate and _on_layer(f, layer)]

    def subjects(self, predicate: str, *, layer: str | None = None) -> set[str]:
        """The subjects that have this predicate."""
        return {f.subject for f in self.all(predicate, layer=layer)}

    def value(self, predicate: str, subject: str, default: Any = None) -> Any:
        """The value that binds, or ``default``."""
        fact = self.get(predicate, subject)
        return default if fact is None else fact.value

    def knows(self, predicate: str) -> bool:
        """Whether the set is able to say "no": something was read and its extractor is not stale.

        Absence of a subject is a finding only where this is True.
        """
        if any(s.predicate == predicate for s in self.stale):
            return False
        return any(f.predicate == predicate and f.state != "documented" for f in self.facts)

    def find(self, fact_id: str) -> Fact | None:
        """The fact with this id."""
        return self._by_id.get(fact_id)

    def counts(self) -> dict[str, int]:
        """Extracted facts by predicate: one for each entry of a table."""
        counted: dict[str, int] = {}
        for predicate, rows in (self.file.rows if self.file else {}).items():
            counted[predicate] = len(rows)
        return counted

    def architecture(self, name: str, *, layer: str | None = None) -> Fact:
        """How this engine reads a model class: native, fallback, removed, plugin or absent.

        A name that is in no table is ``absent``: extracted where the tables were read, unresolved
        where they were not. Whether an absent one can run through a generic class is the fact
        with the subject ``*``.
        """
        return self.get("architecture", name, layer=layer) or self.absent(
            "architecture", name, layer=layer
        )

    def absent(self, predicate: str, subject: str, *, layer: str | None = None) -> Fact:
        """The fact that a subject is in none of the tables that were read for a predicate.

        Unresolved, not extracted, where no table was read: then nobody knows.
        """
        known = self.knows(predicate)
        example = next((f for f in self.facts if f.predicate == predicate), None)
        day = self.file.verified_on if self.file else ""
        return Fact(
            id=fact_id(self.engine, self.version, predicate, subject, "absent", None, layer),
            engine=self.engine,
            version=self.version,
            subject=subject,
            predicate=predicate,
            value="absent",
            condition=None,
            layer=layer,
            state="extracted" if known else "unresolved",
            source=_table_of(example) if known and example else _nowhere(),
            extractor=self.file.extractor if self.file else "hand",
            verified_on=day,
            expires=expiry(day) if day else "",
            detail={"why": "in none of the tables" if known else "no table was read"},
        )

    def conflicts(self) -> list[list[Fact]]:
        """Facts on the same subject and layer whose values differ: kept, and shown together.

        Only predicates that have one value for a subject: a path may well have two methods.
        """
        groups: dict[tuple[str, str, str | None], list[Fact]] = {}
        for fact in self.facts:
            if fact.predicate in ONE_VALUE:
                groups.setdefault((fact.predicate, fact.subject, fact.layer), []).append(fact)
        return [
            sorted(group, key=lambda f: -f.rank)
            for group in groups.values()
            if len({msgspec.json.encode(f.value) for f in group}) > 1
        ]

    def outdated(self, today: datetime.date | None = None) -> str | None:
        """Why these facts should be read again, None if they need not be (DESIGN 6: expiry)."""
        if self.resolved is None:
            return "nothing was extracted: documented facts alone"
        if self.newest and order.key(self.newest) > order.key(self.resolved):
            return f"a newer release is known: {self.newest}"
        if self.facts and self.facts[0].expired(today):
            return f"read on {self.facts[0].verified_on}, more than 14 days ago"
        return None


def _holds(entry: Documented, version: str) -> bool:
    """Whether a hand-entered fact holds; for a version without order: whether it has no end."""
    if not order.ordered(version):
        return entry.until is None
    return order.within(version, entry.since, entry.until)


def _on_layer(fact: Fact, layer: str | None) -> bool:
    """Without a layer: everything but other platforms' facts; with one: it, and the common ones."""
    if layer is None:
        return fact.layer not in PLATFORM_LAYERS
    return fact.layer is None or fact.layer == layer


class FactStore:
    """Facts of all engines; ``load()`` makes one."""

    def __init__(self, snapshot: Path | None, user: Path | None) -> None:
        self._snapshot = snapshot
        self._user = user
        self._places: dict[str, dict[str, str | Path]] = {}
        self._sets: dict[tuple[str, str], FactSet] = {}
        self._documents: dict[str, list[Documented]] = {}
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
            cached = FactSet(
                name, asked, file, self._documented(name), newest, self._companions(name, file)
            )
            self._sets[name, asked] = cached
        return cached

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
        """Hand-entered facts: the engine's own file, and what the gate's cases rest on."""
        if engine not in self._documents:
            folder = resources.files("seatrial.facts").joinpath("documented")
            files = (folder.joinpath(f"{engine}.json"), folder.joinpath(f"gate/{engine}.json"))
            self._documents[engine] = [
                entry for f in files if f.is_file() for entry in decode_documented(f.read_bytes())
            ]
        return self._documents[engine]

    def documented(self, engine: str, predicate: str) -> list[Fact]:
        """Every hand-entered fact of an engine, whichever versions it holds for, each as of the
        first version it holds for (so that its id resolves)."""
        return [
            documented_fact(engine, d.since or "0", d)
            for d in self._documented(engine)
            if d.predicate == predicate
        ]

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


def _table_of(fact: Fact) -> Source:
    """The place of a table, not of one of its lines."""
    return msgspec.structs.replace(fact.source, line=None)


def _nowhere() -> Source:
    return Source(
        artefact="", member="", line=None, sha256="", integrity="document", kind="discussion"
    )


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
