"""When did this appear, change or go? A search over an engine's releases.

The versions at hand give brackets: two neighbours between which something changed. If the index
can be read, the releases inside a bracket are read too, halving it each time (a release costs
about one megabyte), until the two are neighbours on the index. Offline the bracket is the
answer, and is called one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import msgspec

from seatrial.facts import version as order
from seatrial.facts.factset import FactSet

SCHEMA = "seatrial/facts-when/1"


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one predicate of the subject.

    ``exact``: ``last`` and ``first`` are neighbouring releases; else it happened in between.
    ``before``/``after``: values, None where there is no such fact.
    """

    predicate: str
    layer: str | None
    before: Any
    after: Any
    last: str
    first: str
    exact: bool
    says: str


class When(msgspec.Struct, frozen=True, kw_only=True):
    """The document of ``facts when``: turns, oldest first, and what holds at the newest."""

    schema: str
    engine: str
    subject: str
    oldest: str | None
    newest: str | None
    now: dict[str, Any]
    turns: list[Turn]


View = dict[tuple[str, str | None], Any]
"""(predicate, layer) -> value, of one subject at one version."""

_SKIPPED = frozenset({"act_dtypes", "requires"})


def view(facts: FactSet, subject: str) -> View:
    """What is said of a subject; the unconditional fact of each predicate counts."""
    found: View = {}
    for fact in facts.facts:
        if fact.subject == subject and fact.predicate not in _SKIPPED:
            key = (fact.predicate, fact.layer)
            if key not in found or fact.state == "extracted":
                found.setdefault(key, fact.value)
    return found


def search(
    engine: str,
    subject: str,
    known: list[str],
    look: Callable[[str], FactSet],
    released: list[str],
) -> When:
    """The turns of a subject.

    Args:
        known: versions at hand, oldest first.
        look: gives the facts of a version, reading it if it must; may raise SeatrialError.
        released: versions on the index, oldest first; empty when offline.
    """
    views = {v: view(look(v), subject) for v in known}
    turns: list[Turn] = []
    for left, right in itertools.pairwise(known):
        for key in sorted(views[left].keys() | views[right].keys(), key=str):
            if views[left].get(key) != views[right].get(key):
                turns.append(_narrow(key, subject, left, right, views, look, released))
    return When(
        schema=SCHEMA,
        engine=engine,
        subject=subject,
        oldest=known[0] if known else None,
        newest=known[-1] if known else None,
        now={_name(k): v for k, v in (views[known[-1]] if known else {}).items()},
        turns=turns,
    )


def _narrow(
    key: tuple[str, str | None],
    subject: str,
    left: str,
    right: str,
    views: dict[str, View],
    look: Callable[[str], FactSet],
    released: list[str],
) -> Turn:
    before, after = views[left].get(key), views[right].get(key)
    inside = [
        v
        for v in released
        if order.key(left) < order.key(v) < order.key(right) and not order.is_prerelease(v)
    ]
    last, first = left, right
    while inside:
        middle = inside[len(inside) // 2]
        if middle not in views:
            views[middle] = view(look(middle), subject)
        if views[middle].get(key) == before:
            last = middle
            inside = inside[len(inside) // 2 + 1 :]
        else:
            first = middle
            inside = inside[: len(inside) // 2]
    after = views[first].get(key)
    return Turn(
        predicate=key[0],
        layer=key[1],
        before=before,
        after=after,
        last=last,
        first=first,
        exact=bool(released),
        says=_says(key, subject, before, after, last, first, bool(released)),
    )


def _says(
    key: tuple[str, str | None],
    subject: str,
    before: Any,
    after: Any,
    last: str,
    first: str,
    exact: bool,
) -> str:
    where = f"in {first}" if exact else f"after {last} and by {first}"
    if before is None:
        return f"{_name(key)} {subject}: appeared {where} ({after})"
    if after is None:
        return f"{_name(key)} {subject}: went {where}; last in {last} ({before})"
    return f"{_name(key)} {subject}: {before} -> {after} {where}; last in {last}"


def _name(key: tuple[str, str | None]) -> str:
    return key[0] if key[1] is None else f"{key[0]}[{key[1]}]"
