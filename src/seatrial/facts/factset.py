"""The facts that hold for one engine at one version, and the questions they answer.

Extracted facts come first, documented ones whose range holds the version after them. The heaviest
evidence binds; nothing is dropped; and "no" is an answer only where a table was read.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import msgspec

from seatrial.facts import version as order
from seatrial.facts.factfile import Documented, FactFile, documented_fact, facts_of
from seatrial.facts.history import View
from seatrial.facts.record import Fact, Source, State, expiry, fact_id

UNKNOWN = "unknown"
"""The version of a set for which no version was named and none was ever read."""

PLATFORM_LAYERS = frozenset({"rocm", "npu", "cpu", "xpu", "mps", "musa", "hpu", "tpu"})
"""Layers that are platforms other than CUDA: seen only when asked for by name."""

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

WHOLE = frozenset({"architecture", "quantization"})
"""Predicates whose tables a history holds whole; of others it holds some subjects."""

OWNED = {"min_capability": "quantization", "act_dtypes": "quantization"}
"""Predicates that are a property of a subject of another predicate."""


class FactSet:
    """The facts that hold for one engine at one version.

    Attributes:
        engine, version: what was asked for.
        resolved: the version whose artefact was read (None: documented facts alone).
        exact: whether ``resolved`` is the version asked for.
        released: day of that release, None if not known.
        newest: the newest version of the engine in the store, None if none was read.
        stale: extractors that failed there: their predicates are unknown, not empty.
        past: for a version without a full reading: what its registry, or the registries on both
            sides of it, say (``history``).
    """

    def __init__(
        self,
        engine: str,
        version: str,
        file: FactFile | None,
        documented: Iterable[Documented],
        newest: str | None,
        companions: Iterable[FactSet] = (),
        past: View | None = None,
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
        self.past = past
        by_hand = [d for d in documented if _holds(d, version)]
        self._documented = [*(past.rows if past else ()), *by_hand]
        self._companions = list(companions)
        self._tables: dict[str, dict[str, list[Fact]]] = {}

    @cached_property
    def facts(self) -> list[Fact]:
        """Every fact, extracted ones first, each as it stands.

        The same claim, word for word, is kept once: as it was extracted, else as entered first.
        CUDA targets of the kernel wheel that this version pins are its own; their ids name the
        wheel.
        """
        return self._made(None)

    def _made(self, predicate: str | None) -> list[Fact]:
        """The facts of one predicate, or of all."""
        read = facts_of(self.file, predicate) if self.file else []
        if self.past is not None:  # whole tables of its own, or of both sides: not an older one's
            own, seen = self.past.predicates & WHOLE, self.past.seen
            read = [f for f in read if f.predicate not in own]
            read = [f for f in read if (f.predicate, f.subject, f.layer) not in seen]
        for companion in self._companions if predicate in (None, "cuda_targets") else ():
            read += companion.all("cuda_targets")
        wanted = [d for d in self._documented if predicate in (None, d.predicate)]
        by_hand = [documented_fact(self.engine, self.version, d) for d in wanted]
        return list({fact.id: fact for fact in reversed(read + by_hand)}.values())[::-1]

    def _table(self, predicate: str) -> dict[str, list[Fact]]:
        """Subject -> facts of one predicate, made when somebody asks for it."""
        if predicate not in self._tables:
            table: dict[str, list[Fact]] = {}
            for fact in self._made(predicate):
                table.setdefault(fact.subject, []).append(fact)
            self._tables[predicate] = table
        return self._tables[predicate]

    @cached_property
    def _by_id(self) -> dict[str, Fact]:
        return {fact.id: fact for fact in self.facts}

    def get_all(self, predicate: str, subject: str, *, layer: str | None = None) -> list[Fact]:
        """Every fact on one subject: heaviest evidence first, then the unconditional ones.

        ``layer`` is a part of the engine or a platform other than CUDA; it leaves out others.
        """
        found = self._table(predicate).get(subject, [])
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
        found = (f for facts in self._table(predicate).values() for f in facts)
        return [f for f in found if _on_layer(f, layer)]

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
        found = (f for facts in self._table(predicate).values() for f in facts)
        return any(f.state != "documented" for f in found)

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

        Unresolved, not extracted, where no table was read: then nobody knows. The same where the
        predicate is a property of a method that the registry does hold: it was not found, which
        is no proof that there is none.
        """
        owner = OWNED.get(predicate)
        owned = owner is not None and self.get(owner, subject, layer=layer) is not None
        known = self.knows(predicate) and not owned
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
            detail={"why": _why(known, owner if owned else None)},
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

    @cached_property
    def _outweighed(self) -> dict[str, list[str]]:
        """id -> ids of the facts that weigh more and say otherwise."""
        found: dict[str, list[str]] = {}
        for group in self.conflicts():
            if group[0].predicate == "min_capability":
                numbers = [f for f in group if isinstance(f.value, int)]
                group = sorted(numbers, key=lambda f: (-f.value, -f.rank))
            for position, fact in enumerate(group):
                # Of equal weight, a condition says when each of them holds.
                over = [
                    f.id
                    for f in group[:position]
                    if f.value != fact.value and (f.rank > fact.rank or fact.condition is None)
                ]
                if over:
                    found[fact.id] = over
        return found

    def contradicted_by(self, fact: Fact) -> list[str]:
        """Ids of heavier facts on the same subject that say otherwise; [] if it binds."""
        return self._outweighed.get(fact.id, [])

    def standing(self, fact: Fact, today: datetime.date | None = None) -> State:
        """The fact's state as it stands now: contradicted and expired are relations, not readings.

        ``contradicted``: heavier evidence says otherwise, whatever its age. ``expired``: its day
        has passed. Otherwise the state it was read with; ``fact.state`` itself never changes.
        """
        if self.contradicted_by(fact):
            return "contradicted"
        return "expired" if fact.expires and fact.expired(today) else fact.state

    def outdated(self, today: datetime.date | None = None) -> str | None:
        """Why these facts should be read again, None if they need not be (DESIGN 6: expiry)."""
        if self.resolved is None:
            return "this version was not read in full"
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


def _why(known: bool, owner: str | None) -> str:
    if owner:
        return f"its {owner} is known, this property of it was not found"
    return "in none of the tables" if known else "no table was read"


def _table_of(fact: Fact) -> Source:
    """The place of a table, not of one of its lines."""
    return msgspec.structs.replace(fact.source, line=None)


def _nowhere() -> Source:
    return Source(
        artefact="", member="", line=None, sha256="", integrity="document", kind="discussion"
    )
