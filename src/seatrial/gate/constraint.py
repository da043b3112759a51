"""Constraints as declarative entries: an id, what it asks, what it needs, and its rule.

A rule looks at a ``Case`` and returns findings, or nothing where the constraint does not apply.
The order of ``ALL`` is the order in which reasons of equal severity bind: what is wrong with the
question comes before what is wrong with the format, that before the hardware, that before
memory, contracts and operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.table import Number, Probe, Reason


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule found: a verdict in words, the numbers in it, facts, remedy and probe."""

    verdict: Verdict
    says: str
    numbers: dict[str, Number] = {}
    facts: list[Fact] = []
    remedy: str = ""
    probe: Probe | None = None


Rule = Callable[[Case], Finding | Iterable[Finding] | None]


class Constraint(msgspec.Struct, frozen=True, kw_only=True):
    """One entry.

    Attributes:
        id: the reason code, as it appears in gate.json.
        asks: the question in one line.
        needs: which inputs it looks at (model, engine facts, hardware, requirement).
        verdicts: which verdicts it can give besides ``feasible``.
        remedy: the kind of change that frees it.
        rule: the function.
    """

    id: str
    asks: str
    needs: str
    verdicts: tuple[str, ...]
    remedy: str
    rule: Rule


_entries: dict[str, Constraint] = {}


def constraint(id: str, **words: Any) -> Callable[[Rule], Rule]:
    """Declare a constraint; the decorated function is its rule."""

    def declare(rule: Rule) -> Rule:
        if id in _entries:
            raise ValueError(f"constraint {id} is declared twice")
        _entries[id] = Constraint(id=id, rule=rule, **words)
        return rule

    return declare


def declared() -> dict[str, Constraint]:
    """All entries, in the order of declaration."""
    return _entries


def ok(says: str, **numbers: Number) -> Finding:
    """The constraint holds."""
    return Finding(verdict=Verdict.FEASIBLE, says=says, numbers=numbers)


def by_fact(
    case: Case,
    fact: Fact,
    what: str,
    *,
    verdict: Verdict = Verdict.INFEASIBLE,
    remedy: str = "another version, or another engine",
) -> Finding:
    """What a fact says of ``what`` in this engine at this version.

    Args:
        remedy: where the fact itself names none.
    """
    return Finding(
        verdict=verdict,
        says=f"{what} in {case.engine} {case.version or ''}: {fact.condition}",
        facts=[fact],
        remedy=str(fact.detail.get("remedy") or remedy),
    )


def findings(entry: Constraint, case: Case) -> list[Reason]:
    """Apply one entry to one case."""
    found = entry.rule(case)
    if found is None:
        return []
    if isinstance(found, Finding):
        found = [found]
    return [_reason(entry, case, one) for one in found]


def _reason(entry: Constraint, case: Case, found: Finding) -> Reason:
    """A finding as it stands in the table; an expired fact cannot eliminate, only ask to test."""
    verdict, says, probe = found.verdict, found.says, found.probe
    facts = case.known.facts
    carried = facts is not None and facts.resolved and not facts.exact
    if facts is not None and carried and any(f.state == "extracted" for f in found.facts):
        says += f" [as read in {facts.resolved}]"
    inferred = next((f.detail["inferred"] for f in found.facts if "inferred" in f.detail), None)
    if inferred:
        says += f" [inferred: {inferred}]"
    old = [f for f in found.facts if case.known.stale(f)]
    if old:
        says += f" [a fact behind this expired on {old[0].expires}]"
    if old and verdict in (Verdict.INFEASIBLE, Verdict.CONDITIONAL, Verdict.DEGRADED):
        verdict, probe = Verdict.UNKNOWN, probe or case.probe("facts")
    return Reason(
        constraint=entry.id,
        verdict=verdict,
        says=says,
        numbers=found.numbers,
        facts=[f.id for f in found.facts],
        remedy=found.remedy,
        probe=probe,
    )
