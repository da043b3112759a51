"""What changed between two versions of an engine: what people need before an upgrade.

Facts are compared by predicate, subject and layer, over extracted facts and documented ones. A
predicate that an extractor could not read in one of the two is left out and named: "not read"
is not "gone". ``loss`` marks what can break a deployment: a method, format, architecture, flag,
route, metric or CUDA target that is gone, a floor that rose, a default that changed.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from seatrial.facts.factset import FactSet
from seatrial.facts.record import Fact

_QUIET = frozenset({"requires", "license"})
"""Changed in nearly every release: shown last, never called a loss."""

_NO_LOSS = _QUIET | {"excludes", "min_capability", "act_dtypes", "log_signature", "default"}
"""No loss when gone: an exclusion that ended, or a gate whose method is reported itself."""

_GONE_WORDS = frozenset({"removed", "plugin", "absent", "none", "no"})


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference. ``old``/``new`` are values, None where there was no fact."""

    predicate: str
    subject: str
    layer: str | None
    kind: Literal["added", "gone", "changed"]
    old: Any
    new: Any
    loss: bool
    says: str
    facts: list[str]


class FactsDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The document of ``facts diff``. ``not_read``: predicates that could not be compared."""

    schema: str
    engine: str
    old: str
    new: str
    changes: list[Change]
    not_read: list[str]


_Key = tuple[str, str, str | None]


def diff(old: FactSet, new: FactSet) -> FactsDiff:
    """Differences from ``old`` to ``new``, losses first."""
    left, right = _table(old), _table(new)
    not_read = sorted(_unreadable(old) | _unreadable(new))
    changes = [
        change
        for key in sorted(left.keys() | right.keys(), key=str)
        if key[0] not in not_read and (change := _change(key, left.get(key), right.get(key)))
    ]
    changes.sort(key=lambda c: (not c.loss, c.predicate in _QUIET, c.kind, c.predicate, c.subject))
    return FactsDiff(
        schema="seatrial/facts-diff/1",
        engine=new.engine,
        old=old.version,
        new=new.version,
        changes=changes,
        not_read=not_read,
    )


def _unreadable(facts: FactSet) -> set[str]:
    """Predicates for which "no fact" means nothing here."""
    return {s.predicate for s in facts.stale}


def _table(facts: FactSet) -> dict[_Key, Fact]:
    """The fact that binds for each subject; conditional repeats of a subject fold into it."""
    table: dict[_Key, Fact] = {}
    for fact in facts.facts:
        key = (fact.predicate, fact.subject, fact.layer)
        held = table.get(key)
        if held is None or (fact.state == "extracted" and held.state == "documented"):
            table[key] = fact
    return table


def _change(key: _Key, old: Fact | None, new: Fact | None) -> Change | None:
    predicate = key[0]
    if old is not None and new is not None:
        if old.value == new.value and _default(old) == _default(new):
            return None
        loss = _worse(predicate, old, new)
        before, after = _shown(old), _shown(new)
        return _made(key, "changed", old, new, loss, f"{before} -> {after}")
    if old is not None:
        loss = predicate not in _NO_LOSS and not _already_gone(old)
        return _made(key, "gone", old, None, loss, f"was {_shown(old)}")
    if new is None or (_already_gone(new) and predicate == "architecture"):
        return None
    return _made(key, "added", None, new, predicate == "excludes", _shown(new))


def _made(
    key: _Key,
    kind: Literal["added", "gone", "changed"],
    old: Fact | None,
    new: Fact | None,
    loss: bool,
    says: str,
) -> Change:
    return Change(
        predicate=key[0],
        subject=key[1],
        layer=key[2],
        kind=kind,
        old=None if old is None else old.value,
        new=None if new is None else new.value,
        loss=loss,
        says=says,
        facts=[f.id for f in (old, new) if f is not None],
    )


def _already_gone(fact: Fact) -> bool:
    return isinstance(fact.value, str) and fact.value in _GONE_WORDS


def _default(fact: Fact) -> Any:
    return fact.detail.get("default")


def _worse(predicate: str, old: Fact, new: Fact) -> bool:
    """Whether a changed value takes something away."""
    if predicate in _QUIET:
        return False
    if predicate == "min_capability":
        numbers = isinstance(old.value, int) and isinstance(new.value, int)
        return bool(numbers and new.value > old.value)
    if isinstance(old.value, list) and isinstance(new.value, list):
        return not set(map(str, old.value)) <= set(map(str, new.value))
    if predicate in ("flag", "default"):
        return True
    return _already_gone(new) and not _already_gone(old)


def _shown(fact: Fact) -> str:
    value = fact.value
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if plugin := fact.detail.get("plugin"):
        text += f" ({plugin})"
    elif last := fact.detail.get("last_version"):
        text += f" (last in {last})"
    return text
