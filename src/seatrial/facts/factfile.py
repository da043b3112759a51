"""The facts of one engine at one version as one JSON document.

What many facts share (artefact, member, hash, day, extractor) is written once; a row is a short
list ``[subject, value, member, line, state, condition, layer, detail]`` whose trailing defaults
are left out. The shipped snapshot is a zip archive of such documents plus the ones entered by
hand, so anybody can read it with ``unzip -p``; the user's own store holds the same documents as
files.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from seatrial.facts.record import Fact, Source, State, expiry, fact_id

SCHEMA = "seatrial/facts/1"

Row = list[Any]
_DEFAULTS: list[Any] = ["extracted", None, None, {}]


class ArtefactRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One artefact that was read: file name, hash, and how sure we are of it."""

    name: str
    sha256: str = ""
    integrity: Literal["claimed", "verified", "tree"] = "claimed"
    size: int | None = None


class MemberRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file inside an artefact; ``kind`` is the evidence it gives (``record.RANK``)."""

    artefact: int
    path: str
    sha256: str = ""
    checked: bool = False
    kind: str = "code"


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """An extractor that found nothing, or too little: which predicate, where it looked, why."""

    predicate: str
    why: str
    looked_at: list[str] = []


class FactFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that was read of one engine at one version. ``rows``: predicate -> rows."""

    schema: str
    engine: str
    version: str
    released: str | None
    verified_on: str
    extractor: str
    artefacts: list[ArtefactRef]
    members: list[MemberRef]
    rows: dict[str, list[Row]]
    stale: list[Stale] = []
    notes: list[str] = []


class Documented(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fact entered by hand. ``since`` is the first version it holds for, ``until`` the first
    for which it no longer does."""

    predicate: str
    subject: str
    value: Any
    source: str
    kind: str
    verified_on: str
    condition: str | None = None
    layer: str | None = None
    since: str | None = None
    until: str | None = None
    member: str = ""
    line: int | None = None
    detail: dict[str, Any] = {}


_decoder = msgspec.json.Decoder(FactFile)
_documented = msgspec.json.Decoder(list[Documented])


def decode(data: bytes) -> FactFile:
    """Decode one document. Raises msgspec.DecodeError when it is not one."""
    return _decoder.decode(data)


def decode_documented(data: bytes) -> list[Documented]:
    """Decode one engine's hand-entered facts. Raises msgspec.DecodeError."""
    return _documented.decode(data)


def row(
    subject: str,
    value: Any,
    member: int,
    line: int | None,
    state: State = "extracted",
    condition: str | None = None,
    layer: str | None = None,
    detail: dict[str, Any] | None = None,
) -> Row:
    """One row, trailing defaults cut off."""
    cells: Row = [subject, value, member, line, state, condition, layer, detail or {}]
    while len(cells) > 4 and cells[-1] == _DEFAULTS[len(cells) - 5]:
        cells.pop()
    return cells


def facts_of(file: FactFile, only: str | None = None) -> list[Fact]:
    """The document's rows as facts, in its order; ``only`` those of one predicate."""
    expires = expiry(file.verified_on)
    sources: dict[tuple[int, int | None], Source] = {}
    facts = []
    chosen = file.rows.items() if only is None else [(only, file.rows.get(only, []))]
    for predicate, rows in chosen:
        for cells in rows:
            subject, value, member, line = cells[:4]
            state, condition, layer, detail = [*cells[4:], *_DEFAULTS[len(cells) - 4 :]]
            place = (member, line)
            source = sources.get(place)
            if source is None:
                source = sources[place] = _source(file, member, line)
            facts.append(
                Fact(
                    id=fact_id(
                        file.engine, file.version, predicate, subject, value, condition, layer
                    ),
                    engine=file.engine,
                    version=file.version,
                    subject=subject,
                    predicate=predicate,
                    value=value,
                    condition=condition,
                    layer=layer,
                    state=state,
                    source=source,
                    extractor=file.extractor,
                    verified_on=file.verified_on,
                    expires=expires,
                    detail=detail,
                )
            )
    return facts


def _source(file: FactFile, member: int, line: int | None) -> Source:
    place = file.members[member]
    artefact = file.artefacts[place.artefact]
    return Source(
        artefact=artefact.name,
        member=place.path,
        line=line,
        sha256=artefact.sha256,
        integrity=artefact.integrity,
        kind=place.kind,
        member_sha256=place.sha256,
        member_checked=place.checked,
    )


def documented_fact(engine: str, version: str, entry: Documented) -> Fact:
    """A hand-entered fact as it holds for one version."""
    return Fact(
        id=fact_id(
            engine,
            version,
            entry.predicate,
            entry.subject,
            entry.value,
            entry.condition,
            entry.layer,
        ),
        engine=engine,
        version=version,
        subject=entry.subject,
        predicate=entry.predicate,
        value=entry.value,
        condition=entry.condition,
        layer=entry.layer,
        state="documented",
        source=Source(
            artefact=entry.source,
            member=entry.member,
            line=entry.line,
            sha256="",
            integrity="document",
            kind=entry.kind,
        ),
        extractor="hand",
        verified_on=entry.verified_on,
        expires=expiry(entry.verified_on),
        detail=entry.detail,
        since=entry.since,
        until=entry.until,
    )
