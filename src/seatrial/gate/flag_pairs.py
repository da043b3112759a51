"""Constraint on flags that are good each alone and refused together.

The facts are the engines' own checks of their arguments, release by release. A fact's
``detail.flags`` lists what has to be set for it to speak, each as ``name``, ``name|alias``,
``name>1`` (a number above it), ``name=fp8`` (a value that begins so) or ``!name`` (not set).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact, constraint

_TERM = re.compile(r"(?P<no>!?)(?P<names>[a-z0-9_|]+)(?:>(?P<above>\d+)|=(?P<begins>\w+))?")
_OFF = (None, False, 0, "", "0", "false", "none")


@constraint(
    "flags_exclusive",
    asks="Do two of the candidate's flags exclude each other in this release?",
    needs="args, facts excludes flags:A+B",
    verdicts=("conditional",),
    remedy="leave one of them out",
)
def flags_exclusive(case: Case) -> Iterator[Finding]:
    for fact in case.known.all("excludes"):
        terms = fact.detail.get("flags")
        if not fact.subject.startswith("flags:") or not isinstance(terms, list):
            continue
        if all(_holds(case, str(term)) for term in terms):
            yield by_fact(
                case,
                fact,
                fact.subject.removeprefix("flags:").replace("+", " with ").replace("_", " "),
                verdict=Verdict.CONDITIONAL,
                remedy="leave one of them out",
            )


def _holds(case: Case, term: str) -> bool:
    """Whether one term of a fact is true of the candidate's flags."""
    found = _TERM.fullmatch(term)
    if found is None or (found["no"] and (found["above"] or found["begins"])):
        return False
    given = [case.args.get(name) for name in found["names"].split("|")]
    if found["above"] is not None:
        return any(str(v).isdecimal() and int(str(v)) > int(found["above"]) for v in given)
    if found["begins"] is not None:
        return any(str(v).lower().startswith(found["begins"]) for v in given)
    is_set = any((v.lower() if isinstance(v, str) else v) not in _OFF for v in given)
    return is_set is not bool(found["no"])
