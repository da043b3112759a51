"""What is known of one engine at one version: the fact store's answer, and how far it reaches.

The store answers for the version asked for, or with the nearest older one that was read. Absence
from a registry is a finding only where the registry was read; otherwise the answer is "not
known". A fact that is past its expiry still speaks, and what it decides is marked.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any

from seatrial.facts import Fact, FactSet, FactStore, record
from seatrial.facts import version as order
from seatrial.facts.shortened import plain


def spellings(flags: Iterable[Fact]) -> frozenset[str]:
    """Every spelling of these flags, in lower case and with underscores."""
    return frozenset(
        plain(n).lower() for f in flags for n in (f.subject, *f.detail.get("aliases", []))
    )


@lru_cache(maxsize=64)
def _flags_ever_read(store: FactStore, engine: str) -> frozenset[str]:
    sets = (store.engine(engine, version) for version in store.versions(engine))
    return spellings(fact for s in sets if s.knows("flag") for fact in s.all("flag"))


class Knowledge:
    """One engine at one version, one layer of it where it has two (LMDeploy)."""

    def __init__(
        self,
        store: FactStore,
        engine: str,
        version: str | None,
        layer: str | None,
        today: datetime.date | None = None,
    ) -> None:
        self.engine = engine
        self.version = version
        self.layer = layer
        self.today = today or record.current_day()
        self._store = store
        known = engine in store.engines()
        self.facts: FactSet | None = store.engine(engine, version) if known else None

    def get(self, predicate: str, subject: str) -> Fact | None:
        """The fact that binds."""
        if self.facts is None:
            return None
        return self.facts.get(predicate, subject, layer=self.layer)

    def value(self, predicate: str, subject: str, default: Any = None) -> Any:
        """The value that binds."""
        fact = self.get(predicate, subject)
        return default if fact is None else fact.value

    def all(self, predicate: str) -> list[Fact]:
        """Every fact with this predicate."""
        return self.facts.all(predicate, layer=self.layer) if self.facts else []

    def lacks(self, predicate: str, names: list[str]) -> str | None:
        """Why none of these subjects was in a table that was read apart from a full reading (of
        this version, or of those on both sides); null if one was, or no such table is known."""
        past = self.facts.past if self.facts is not None else None
        return past.lacks(predicate, names, self.layer) if past is not None else None

    @property
    def released(self) -> str | None:
        """Day of this version's release, or of the next one read (it is no younger); null if
        neither was read."""
        if self.facts is None:
            return None
        if self.facts.exact:
            return self.facts.released
        return self.facts.past.released if self.facts.past is not None else None

    def complete(self, predicate: str) -> bool:
        """Whether absence of a subject is a finding here: the registry of this very version, or
        of an older one (then only what has come since could be missing), was read."""
        return self.facts is not None and self.facts.knows(predicate)

    @property
    def exact(self) -> bool:
        """Whether the artefact of this very version was read."""
        return self.facts is not None and self.facts.exact

    @property
    def artefact(self) -> str | None:
        """File name of the artefact of this very version, if it was read."""
        file = self.facts.file if self.facts is not None and self.facts.exact else None
        return file.artefacts[0].name if file and file.artefacts else None

    @cached_property
    def later(self) -> FactSet | None:
        """The oldest set read that is newer than this version."""
        if self.version is None:
            return None
        mine = order.key(self.version)
        newer = [v for v in self._store.versions(self.engine) if order.key(v) > mine]
        return self._store.engine(self.engine, newer[0]) if newer else None

    def stale(self, fact: Fact) -> bool:
        """Whether this fact must be read again before it may eliminate anything.

        What was extracted from the artefact of exactly the version judged cannot change; what was
        entered by hand, or carried over from another version, can.
        """
        if not fact.expired(self.today):
            return False
        closed = fact.state == "documented" and fact.until is not None
        return not closed and not (fact.state == "extracted" and self.exact)

    def core(self, facts: FactSet | None = None) -> Knowledge | None:
        """llama.cpp at the build that this version of Ollama carries; null if that is not known.
        From 0.30 on its build file pins it. What 0.13.5 to 0.24 carry as source knows
        nemotron_h_moe and neither modern-bert nor mimo2: a build of December 2025."""
        own = facts or self.facts
        pin = own.get("requires", "llama.cpp") if own is not None else None
        late = self.version is None or order.key(self.version) >= order.key("0.20.0")
        build = str(pin.value) if pin else "b7400" if late else None
        return Knowledge(self._store, "llama.cpp", build, None, self.today) if build else None

    def newest_of(self, engine: str) -> Knowledge:
        """Another engine as it is today."""
        return Knowledge(self._store, engine, None, None, self.today)

    def supports(self, feature: str) -> Fact | None:
        """The ``supports`` fact of a feature: a "no" for this version outweighs a "yes" that
        names no version."""
        if self.facts is None:
            return None
        found = self.facts.get_all("supports", feature, layer=self.layer)
        return next((f for f in found if f.value == "no"), found[0] if found else None)

    def on_layer(self, layer: str) -> Knowledge:
        """The same engine and version, the other of its two layers."""
        return Knowledge(self._store, self.engine, self.version, layer, self.today)

    def excludes(self, subject: str) -> Fact | None:
        """The ``excludes`` fact of a combination."""
        return self.get("excludes", subject)

    def history(self, predicate: str) -> list[tuple[Fact, bool]]:
        """Facts of this predicate that hold here (True), and hand-entered ones whose range ended
        at or before this version (False): they held once, and an end entered by hand says only
        that nobody has looked since."""
        now = [(f, True) for f in self.all(predicate)]
        if self.version is None:
            return now
        mine = order.key(self.version)
        have = {f.subject for f, _ in now}
        past = [
            (f, False)
            for f in self._store.documented(self.engine, predicate)
            if f.until is not None and order.key(f.until) <= mine and f.subject not in have
        ]
        return now + past

    def first_seen(self, predicate: str, subjects: list[str]) -> str | None:
        """The oldest version of which a hand-entered row names one of these subjects."""
        rows = self._store.documented(self.engine, predicate)
        found = [f.since for f in rows if f.since and f.subject in subjects]
        return min(found, key=order.key, default=None)

    def last_reading_before(self, predicate: str, version: str) -> str | None:
        """The newest version below this one whose whole registry was read by hand: one that is
        the beginning of more than one row."""
        rows = [f.since for f in self._store.documented(self.engine, predicate) if f.since]
        read = {v for v in rows if rows.count(v) > 3 and order.key(v) < order.key(version)}
        return max(read, key=order.key, default=None)

    def documented(self, predicate: str) -> list[Fact]:
        """Every hand-entered fact of this predicate, for whichever versions it holds."""
        return self._store.documented(self.engine, predicate)

    def flags_read(self, *, of_others: bool = False) -> frozenset[str]:
        """Every flag of whichever version of this engine was read, or of the other engines; only
        versions whose table is whole count."""
        engines = [e for e in self._store.engines() if (e != self.engine) == of_others]
        return frozenset().union(*(_flags_ever_read(self._store, e) for e in engines))

    def latest(self, predicate: str) -> list[Fact]:
        """Facts as of the engine's last version, whichever version is judged: what is said of a
        project and not of a release."""
        return [f for f in self._store.documented(self.engine, predicate) if f.until is None]
