"""The JSON twins of the pages: plain functions from folders and facts to documents."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from seatrial.core.errors import UsageError
from seatrial.dossier import Dossier, compose
from seatrial.dossier.escape import harmless
from seatrial.dossier.html import page
from seatrial.dossier.trial import document
from seatrial.web import trials
from seatrial.web.guard import inside
from seatrial.web.runs import Runs, described

MAX_FACTS = 2_000
KEPT_DOSSIERS = 8


class Dossiers:
    """Composed dossiers, kept until an artefact of their trial changes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[Any, Dossier]] = OrderedDict()
        self._pages: dict[tuple[str, str], tuple[Dossier, str]] = {}
        self._lock = Lock()

    def get(self, folder: Path, lang: str) -> Dossier:
        """The dossier of ``folder`` as it is now."""
        place, key = (str(folder), lang), trials.fresh_key(folder)
        with self._lock:
            kept = self._kept.get(place)
        if kept is not None and kept[0] == key:
            return kept[1]
        made = compose(folder, lang=lang)
        with self._lock:
            self._kept[place] = (key, made)
            self._kept.move_to_end(place)
            while len(self._kept) > KEPT_DOSSIERS:
                gone, _ = self._kept.popitem(last=False)
                self._pages.pop(gone, None)
        return made

    def page(self, folder: Path, lang: str) -> str:
        """The same as a page; drawn anew only when the dossier is another one."""
        made, place = self.get(folder, lang), (str(folder), lang)
        with self._lock:
            drawn = self._pages.get(place)
        if drawn is not None and drawn[0] is made:
            return drawn[1]
        text = page(made)
        with self._lock:
            if place in self._kept:
                self._pages[place] = (made, text)
        return text


class Views:
    """Everything that pages ask for, over one trials folder."""

    def __init__(self, root: Path, *, runs: Runs | None = None) -> None:
        self.root = root
        self.dossiers = Dossiers()
        self.runs = runs or Runs(root)

    def trial_folder(self, name: str) -> Path:
        """A trial by its name.

        Raises:
            UsageError: there is none.
        """
        folder = inside(self.root, name)
        if folder == self.root.resolve() or not trials.is_trial(folder):
            raise UsageError(
                "there is no such trial", where=name[:200], remedy="choose one from the list"
            )
        return folder

    def index(self) -> dict[str, Any]:
        """The list of trials."""
        return {"schema": "seatrial/web-index/1", "trials": trials.listed(self.root)}

    def trial(self, name: str) -> dict[str, Any]:
        """One trial: its line, its cells, the last events, the end of the log being written."""
        folder = self.trial_folder(name)
        return {
            "schema": "seatrial/web-trial/1",
            "trial": trials.line(folder),
            "cells": trials.cell_lines(folder),
            "events": trials.events(folder, after=-1, limit=200),
            "log": trials.log_tail(folder),
            "files": sorted(
                str(p.relative_to(folder))
                for p in folder.rglob("*")
                if p.is_file() and not any(x.startswith(".") for x in p.relative_to(folder).parts)
            )[:MAX_FACTS],
        }

    def dossier(self, name: str, lang: str) -> Dossier:
        """dossier.json as the artefacts are now."""
        return self.dossiers.get(self.trial_folder(name), lang)

    def dossier_page(self, name: str, lang: str) -> str:
        """The same as a page."""
        return self.dossiers.page(self.trial_folder(name), lang)

    def fingerprint(self, name: str) -> dict[str, Any]:
        """fingerprint.json of a trial.

        Raises:
            UsageError: its stage has not run.
        """
        found = document(self.trial_folder(name) / "fingerprint.json")
        if found is None:
            raise UsageError(
                "this trial has no fingerprint yet",
                where=name,
                remedy="wait for its first stage, or run it",
            )
        shown: dict[str, Any] = harmless(found)
        return shown

    def new(self) -> dict[str, Any]:
        """What the form works with, and the runs it has started."""
        shown: dict[str, Any] = harmless(msgspec.to_builtins(described(self.root, self.runs)))
        return shown

    def profile(self, relative: str) -> dict[str, Any]:
        """The fingerprint of a trace inside the trials folder; without a path, what there is.

        Raises:
            UsageError: no such file, or not a trace.
        """
        from seatrial import trace
        from seatrial.workload import fingerprint

        if not relative:
            return {"schema": "seatrial/web-profile/1", **trials.inputs(self.root)}
        table = trace.load([inside(self.root, relative)])
        shown: dict[str, Any] = harmless(msgspec.to_builtins(fingerprint(table)))
        return shown

    def compare(self, chosen: dict[str, str]) -> dict[str, Any]:
        """Two trials: the upgrade check, as ``seatrial diff --json`` prints it.

        Without ``old`` and ``new``: the trials that can be compared, with their candidates.
        """
        from seatrial.decide.diff import diff

        old, new = chosen.get("old"), chosen.get("new")
        if not old and not new:
            return {**self.index(), "schema": "seatrial/web-compare/1"}
        if not old or not new:
            raise UsageError(
                "the query names one trial", where="/compare", remedy="add ?old=...&new=..."
            )
        found = diff(
            self.trial_folder(old),
            self.trial_folder(new),
            old_candidate=chosen.get("old_candidate") or None,
            new_candidate=chosen.get("new_candidate") or None,
            margin=None,
            force=True,
        )
        shown: dict[str, Any] = harmless(msgspec.to_builtins(found))
        return shown

    def engines(self) -> dict[str, Any]:
        """Engines and the versions whose facts are known, newest first."""
        from seatrial.facts import load

        store = load()
        known = [{"engine": e, "versions": store.versions(e)[::-1]} for e in store.engines()]
        return {"schema": "seatrial/web-engines/1", "engines": known}

    def facts(self, engine: str, asked: dict[str, str]) -> dict[str, Any]:
        """Facts of one ``version`` (the newest known if not given).

        ``predicate``, ``subject``, ``layer`` and ``q`` narrow them.

        With ``against`` another version: what differs from it, by predicate and subject.
        """
        from seatrial.facts import load

        store = load()
        own = store.engine(engine, asked.get("version") or None)
        found = [f for f in own.facts if _matches(msgspec.to_builtins(f), asked)]
        answer: dict[str, Any] = {
            "schema": "seatrial/web-facts/1",
            "engine": own.engine,
            "version": own.version,
            "read_from": own.resolved,
            "outdated": own.outdated(),
            "predicates": sorted({f.predicate for f in own.facts}),
            "total": len(found),
            "facts": found[:MAX_FACTS],
        }
        if against := asked.get("against"):
            answer["against"] = against
            other = store.engine(engine, against)
            answer["changes"] = _changes(other.facts, found, asked)[:MAX_FACTS]
        shown: dict[str, Any] = harmless(msgspec.to_builtins(answer))
        return shown


def _matches(fact: dict[str, Any], asked: dict[str, str]) -> bool:
    for key in ("predicate", "subject", "layer"):
        if asked.get(key) and fact.get(key) != asked[key]:
            return False
    words = asked.get("q", "").lower().split()
    said = f"{fact['predicate']} {fact['subject']} {fact['value']}".lower()
    return all(word in said for word in words)


def _changes(old: list[Any], new: list[Any], asked: dict[str, str]) -> list[dict[str, Any]]:
    """Claims by predicate, subject, layer and condition whose values differ."""

    def by_claim(facts: list[Any]) -> dict[tuple[str, ...], Any]:
        return {(f.predicate, f.subject, f.layer or "", f.condition or ""): f.value for f in facts}

    before = by_claim([f for f in old if _matches(msgspec.to_builtins(f), asked)])
    after = by_claim(new)
    changed = []
    for claim in sorted(before.keys() | after.keys()):
        was, now = before.get(claim), after.get(claim)
        if was != now:
            predicate, subject, layer, condition = claim
            changed.append(
                {
                    "predicate": predicate,
                    "subject": subject,
                    "layer": layer,
                    "condition": condition,
                    "old": was,
                    "new": now,
                    "kind": "added"
                    if claim not in before
                    else "removed"
                    if claim not in after
                    else "changed",
                }
            )
    return changed
