"""Registries of releases that no full reading covers: which classes they had, as ranges.

The snapshot holds full readings of some versions. For the others of an engine a few members were
read (``tools/facts_history.py``), and ``history/ENGINE.json`` keeps what they say as ranges over
the versions read. A version that was read itself is answered exactly. One between two readings
that agree is answered by them, and says so (``inferred`` in the fact's detail); where they differ
nobody knows, and nothing is said. Before the first reading only absence can be inferred: a class
that even the next reading lacks was not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from typing import Any

import msgspec

from seatrial.facts import version as order
from seatrial.facts.factfile import Documented, FactFile

Key = tuple[str, str, str | None]
"""predicate, subject, layer"""

Claim = tuple[Any, tuple[str, ...] | None, str | None]
"""value, what the class supports, last version that had it"""


_HALF = {"own-engine"}
"""Values that are neither yes nor no: such a subject is known of, and nothing is said."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """One engine's file.

    Attributes:
        versions: ``[version, day, artefact, sha256]`` of each release read, oldest first.
        rows: ``[predicate, subject, layer, value, member, line, supports, last, first, end]``:
            holds from ``versions[first]`` up to, not including, ``versions[end]``.
    """

    schema: str
    engine: str
    verified_on: str
    versions: list[list[str]]
    rows: list[list[Any]]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What the history says of one version.

    Attributes:
        rows: facts that hold. predicates: those whose whole table is known.
        below, above: the readings on either side (the same one where it was read itself).
        seen: keys that either side has: what is not among them was not there.
        released: day of the reading above: this version is no younger.
    """

    rows: list[Documented]
    predicates: frozenset[str]
    below: str | None
    above: str | None
    seen: frozenset[Key]
    released: str | None = None

    @property
    def read_from(self) -> str:
        """In words: what, beside documented facts, is known of this version."""
        if self.below == self.above:
            return "documented facts, and the registries of its own release"
        if self.below is None:
            return f"documented facts, and what the registries of {self.above} still lack"
        if self.above is None:
            return f"documented facts, and the registries of {self.below}"
        return f"documented facts, and where {self.below} and {self.above} agree, their registries"

    def lacks(self, predicate: str, names: Iterable[str], layer: str | None) -> str | None:
        """Why none of these subjects was in the table; null if one was, or it is not known."""
        if predicate not in self.predicates:
            return None
        for name in names:
            if {(predicate, name, layer), (predicate, name, None)} & self.seen:
                return None
        if self.below == self.above:
            return f"read in the artefact of {self.below}"
        if self.below is None:
            return f"{self.above}, the next version read, does not have it either"
        return f"neither {self.below} nor {self.above} has it, the versions read on both sides"


def load(engine: str) -> History | None:
    """The engine's file, null if it has none."""
    file = resources.files("seatrial.facts").joinpath(f"history/{engine}.json")
    if not file.is_file():
        return None
    return msgspec.json.decode(file.read_bytes(), type=History)


def neighbours(listed: Iterable[str], version: str) -> tuple[str | None, str | None]:
    """The nearest versions at or below, and at or above."""
    mine = order.key(version)
    known = sorted((v for v in listed if order.ordered(v)), key=order.key)
    below = [v for v in known if order.key(v) <= mine]
    above = [v for v in known if order.key(v) >= mine]
    return (below[-1] if below else None), (above[0] if above else None)


def table(history: History, version: str) -> dict[Key, tuple[Claim, list[Any]]]:
    """The table of a version that was read: key -> (claim, row)."""
    place = next(n for n, v in enumerate(history.versions) if v[0] == version)
    return {
        (row[0], row[1], row[2]): (_claim(row), row)
        for row in history.rows
        if row[8] <= place < row[9]
    }


def table_of(file: FactFile, predicates: frozenset[str]) -> dict[Key, tuple[Claim, list[Any]]]:
    """The same out of a full reading."""
    found: dict[Key, tuple[Claim, list[Any]]] = {}
    for predicate in predicates:
        for cells in file.rows.get(predicate, []):
            subject, value, member, line = cells[:4]
            layer = cells[6] if len(cells) > 6 else None
            detail = cells[7] if len(cells) > 7 else {}
            supports = detail.get("supports")
            path = file.members[member].path
            row = [predicate, subject, layer, value, path, line, supports]
            row.append(detail.get("last_version"))
            found.setdefault((predicate, subject, layer), (_claim(row), row))
    return found


def view(
    version: str,
    sides: tuple[str | None, str | None],
    tables: dict[str, dict[Key, tuple[Claim, list[Any]]]],
    names: dict[str, str],
    until: str | None,
    verified_on: str,
    released: str | None = None,
) -> View | None:
    """What readings on both sides say of a version.

    ``names``: version -> artefact read. ``until``: the next version known, for which the facts
    need not hold any more.
    """
    below, above = sides
    if above is None:
        return None  # newer than every reading: nothing can be inferred
    upper = tables[above]
    lower = tables[below] if below else {}
    known = {k[0] for k in upper}
    if below:
        known &= {k[0] for k in lower}
    rows = []
    for key, (claim, row) in lower.items():
        other = upper.get(key)
        if other is not None and other[0][0] == claim[0] and claim[0] not in _HALF:
            same = other[0][1] == claim[1]
            rows.append(_fact(row, same, (below or "", above), names, until, verified_on))
    return View(
        rows=rows,
        predicates=frozenset(known),
        below=below,
        above=above,
        seen=frozenset(lower) | frozenset(upper),
        released=released,
    )


def _fact(
    row: list[Any],
    same: bool,
    sides: tuple[str, str],
    names: dict[str, str],
    until: str | None,
    verified_on: str,
) -> Documented:
    """One row as a fact; what the class supports only where both sides say the same."""
    below, above = sides
    detail: dict[str, Any] = {}
    if row[6] is not None and same:
        detail["supports"] = list(row[6])
    if row[7] is not None:
        detail["last_version"] = row[7]
    source = names[below]
    if below != above:
        detail["inferred"] = f"so in {below} and in {above}, the versions read on both sides"
        source += f" and {names[above]}"
    return Documented(
        predicate=row[0],
        subject=row[1],
        layer=row[2],
        value=row[3],
        source=source,
        member=row[4] or "",
        line=row[5],
        kind="code",
        verified_on=verified_on,
        since=below,
        until=until,
        detail=detail,
    )


def _claim(row: list[Any]) -> Claim:
    return row[3], tuple(sorted(row[6])) if row[6] is not None else None, row[7]
