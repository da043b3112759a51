"""The documents of ``facts ... --json``: what each verb prints, as records.

The published schemas are made from these (``seatrial.facts.schema``); the verbs fill them and
print nothing else. Keys of DESIGN 4.5 keep their names and places.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.facts.factfile import Stale
from seatrial.facts.factset import FactSet
from seatrial.facts.record import Fact, State
from seatrial.facts.verify import Report

SHOW = "seatrial/facts-show/1"
SYNC = "seatrial/facts-sync/1"
VERIFY = "seatrial/facts-verify/1"
EXPORT = "seatrial/facts-export/1"


class ShownFact(Fact, frozen=True, kw_only=True, gc=False):
    """A fact and how it stands now.

    Attributes:
        standing: ``state``, or ``contradicted`` (heavier evidence says otherwise), or ``expired``
            (its day has passed). ``state`` stays what it was read with.
        contradicted_by: ids of the heavier facts.
    """

    standing: State
    contradicted_by: list[str]


class ShowDocument(msgspec.Struct, frozen=True, kw_only=True):
    """``facts show``: the chosen facts of one engine at one version.

    Attributes:
        read_from: version whose artefact answers; ``exact`` if it is the one asked for.
        outdated: why the set should be read again, None if it need not be.
        stale: extractors that failed: their predicates are unknown, not empty.
        conflicts: groups of ids on one subject whose values differ, the one that binds first.
        counts: extracted facts by predicate, of the whole set.
    """

    schema: str
    engine: str
    version: str
    released: str | None
    read_from: str | None
    exact: bool
    newest_known: str | None
    outdated: str | None
    facts: list[ShownFact]
    stale: list[Stale]
    conflicts: list[list[str]]
    counts: dict[str, int]
    notes: list[str]


class Synced(msgspec.Struct, frozen=True, kw_only=True):
    """One version that was read into the user's store; ``kept``: its file."""

    engine: str
    version: str
    released: str | None
    facts: int
    stale: list[Stale]
    artefact: str
    sha256: str
    integrity: str
    kept: str


class SyncDocument(msgspec.Struct, frozen=True, kw_only=True):
    """``facts sync``. ``requests`` and ``bytes_in`` are 0 for a local source."""

    schema: str
    read: list[Synced]
    requests: int
    bytes_in: int


class VerifyDocument(msgspec.Struct, frozen=True, kw_only=True):
    """``facts verify``: one report a version."""

    schema: str
    checked: list[Report]


class ExportedEngine(msgspec.Struct, frozen=True, kw_only=True):
    """Every fact of one engine at one version."""

    engine: str
    version: str
    read_from: str | None
    released: str | None
    facts: list[Fact]
    stale: list[Stale]


class ExportDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``facts export``: the facts; with ``--out`` the file they were written to instead."""

    schema: str
    engines: list[ExportedEngine] = []
    written: str | None = None


def shown(facts: FactSet, chosen: list[Fact]) -> ShowDocument:
    """The document of ``facts show`` for the facts chosen out of a set."""
    return ShowDocument(
        schema=SHOW,
        engine=facts.engine,
        version=facts.version,
        released=facts.released if facts.exact else None,
        read_from=facts.resolved,
        exact=facts.exact,
        newest_known=facts.newest,
        outdated=facts.outdated(),
        facts=[with_standing(facts, fact) for fact in chosen],
        stale=facts.stale,
        conflicts=[[f.id for f in group] for group in facts.conflicts()],
        counts=facts.counts(),
        notes=facts.notes,
    )


def with_standing(facts: FactSet, fact: Fact) -> ShownFact:
    """A fact of this set with its standing today."""
    fields: dict[str, Any] = {name: getattr(fact, name) for name in fact.__struct_fields__}
    return ShownFact(
        **fields, standing=facts.standing(fact), contradicted_by=facts.contradicted_by(fact)
    )


def exported(sets: list[FactSet]) -> ExportDocument:
    """Every fact of these sets, ids and sources included."""
    return ExportDocument(
        schema=EXPORT,
        engines=[
            ExportedEngine(
                engine=s.engine,
                version=s.version,
                read_from=s.resolved,
                released=s.released,
                facts=s.facts,
                stale=s.stale,
            )
            for s in sets
        ],
    )
