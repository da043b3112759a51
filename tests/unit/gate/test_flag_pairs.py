"""What a term of a fact on flags says of a candidate's flags."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from seatrial.facts import FactStore
from seatrial.gate.case import Case
from seatrial.gate.flag_pairs import _TERM, _holds


def _case(args: dict[str, Any]) -> Case:
    return cast(Case, SimpleNamespace(args=args))


@pytest.mark.parametrize(
    ("term", "args", "holds"),
    [
        ("a", {"a": True}, True),
        ("a", {"a": "model"}, True),
        ("a", {"a": False}, False),
        ("a", {"a": "none"}, False),
        ("a", {"a": [1]}, True),
        ("a", {}, False),
        ("a|b", {"b": {"method": "eagle"}}, True),
        ("!a", {}, True),
        ("!a", {"a": True}, False),
        ("a>1", {"a": 2}, True),
        ("a>1", {"a": "8"}, True),
        ("a>1", {"a": 1}, False),
        ("a=fp8", {"a": "fp8_e5m2"}, True),
        ("a=fp8", {"a": "auto"}, False),
        ("a b", {"a b": True}, False),
    ],
)
def test_a_term_holds(term: str, args: dict[str, Any], holds: bool) -> None:
    assert _holds(_case(args), term) is holds


def test_every_shipped_term_can_be_read(store: FactStore) -> None:
    terms = [
        term
        for engine in store.engines()
        for fact in store.documented(engine, "excludes")
        if fact.subject.startswith("flags:")
        for term in fact.detail["flags"]
    ]
    assert len(terms) > 20
    assert all(_TERM.fullmatch(term) for term in terms)
