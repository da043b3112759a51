"""Do the stored facts still follow from their artefacts? Read again, compare, report drift.

A released file never changes, so a different hash is an integrity matter; a different row with
the same hash means that the extractor has changed, and the snapshot should be made anew.
"""

from __future__ import annotations

import msgspec

from seatrial.core.errors import PrerequisiteError
from seatrial.core.progress import Progress
from seatrial.facts.factfile import ArtefactRef, facts_of
from seatrial.facts.reach.index import Index
from seatrial.facts.record import Fact
from seatrial.facts.store import FactStore
from seatrial.facts.sync import read_release


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One version checked.

    ``same``: facts found again at the same place; ``drifted``: lines that say what is not the
    same; ``hash_changed``: the artefact's or a member's hash differs; ``not_checked``: facts out
    of binaries, which are not fetched again (the artefact's hash still covers them).
    """

    engine: str
    version: str
    same: int
    drifted: list[str]
    hash_changed: bool
    not_checked: int


def verify_version(
    store: FactStore, engine: str, version: str, index: Index, *, progress: Progress | None = None
) -> Report:
    """Read one version again and compare it with what is stored.

    Raises:
        PrerequisiteError: nothing is stored for it, or the index cannot be read.
    """
    stored = store.engine(engine, version)
    if stored.file is None or not stored.exact:
        raise PrerequisiteError(
            f"nothing is stored for {engine}=={version}",
            where="facts",
            remedy=f"seatrial facts sync {engine}=={version}",
        )
    fresh = read_release(engine, version, index, progress=progress)
    read = facts_of(stored.file)
    old = {f.id: f for f in read if f.source.kind != "binary"}
    new = {f.id: f for f in facts_of(fresh)}
    drifted = [f"gone: {i}" for i in sorted(old.keys() - new.keys())]
    drifted += [f"new: {i}" for i in sorted(new.keys() - old.keys())]
    moved = [i for i in old.keys() & new.keys() if _place(old[i]) != _place(new[i])]
    drifted += [f"moved: {i}" for i in sorted(moved)]
    return Report(
        engine=engine,
        version=version,
        same=len(old.keys() & new.keys()) - len(moved),
        drifted=drifted,
        not_checked=len(read) - len(old),
        hash_changed=_hashes(stored.file.artefacts) != _hashes(fresh.artefacts)
        or any(
            old[i].source.member_sha256 != new[i].source.member_sha256
            for i in old.keys() & new.keys()
        ),
    )


def _place(fact: Fact) -> tuple[str, int | None]:
    return fact.source.member, fact.source.line


def _hashes(artefacts: list[ArtefactRef]) -> list[tuple[str, str]]:
    return sorted((a.name, a.sha256) for a in artefacts)
