"""What would turn a verdict: single changes, each tried with the gate itself.

Not advice from a table: the same rules judge the workload with one thing changed (another TP,
another version that was read, another engine, another card), and what then may serve is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from seatrial.core.verdict import Verdict
from seatrial.facts import ENGINES, FactStore
from seatrial.facts import version as order
from seatrial.gate.candidate import newest_version
from seatrial.gate.run import run
from seatrial.gate.what_if import changed
from seatrial.hardware import Host
from seatrial.workload.profile import Fingerprint
from seatrial.workload.spec import CandidateSpec, Workload

_CARDS = (
    "t4",
    "l4",
    "a10g",
    "l40s",
    "rtx-5090",
    "a100-80gb",
    "h100-80gb",
    "h200",
    "b200",
    "mi300x",
)
_TPS = (1, 2, 4, 8, 16)
_VERSIONS = 6


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One change and the verdict it gives: ``tp=4``, ``version=0.27.1``, ``engine=sglang``."""

    change: str
    verdict: Verdict


def turns(
    spec: Workload,
    candidate: CandidateSpec,
    *,
    base_dir: Path,
    fingerprint: Fingerprint | None,
    facts: FactStore,
    host: Host,
    installed: dict[str, list[str]],
) -> list[Turn]:
    """Single changes after which this candidate is feasible or degraded, cheapest kind first."""
    found = []
    for change, other in _changes(spec, candidate, facts, installed):
        table = run(
            other,
            base_dir=base_dir,
            fingerprint=fingerprint,
            facts=facts,
            host=host,
            installed=installed,
            landscape=False,
        )
        verdict = table.candidates[0].verdict
        if verdict in (Verdict.FEASIBLE, Verdict.DEGRADED):
            found.append(Turn(change=change, verdict=verdict))
    return found


def _changes(
    spec: Workload,
    candidate: CandidateSpec,
    facts: FactStore,
    installed: dict[str, list[str]],
) -> Iterator[tuple[str, Workload]]:
    alone = msgspec.structs.replace(spec, candidates=[candidate])
    hardware = spec.hardware
    if hardware.gpu:
        for tp in (t for t in _TPS if t <= hardware.count * hardware.nodes):
            yield f"tp={tp}", changed(alone, [f"tp={tp}"])
    for version in _other_versions(candidate, facts):
        yield f"version={version}", changed(alone, [f"version={version}"])
    for engine in (e for e in ENGINES if e != candidate.engine):
        newest = newest_version(engine, facts, installed)
        other = CandidateSpec(engine=engine, version=newest)  # type: ignore[arg-type]
        yield f"engine={engine}", msgspec.structs.replace(spec, candidates=[other])
    if hardware.gpu:
        for card in (c for c in _CARDS if c != hardware.gpu):
            yield f"gpu={card}", changed(alone, [f"gpu={card}"])


def _other_versions(candidate: CandidateSpec, facts: FactStore) -> list[str]:
    """Some versions that were read: the newest ones, and those next to the one judged."""
    known = facts.versions(candidate.engine)
    own = candidate.version
    if own is None:
        return known[-_VERSIONS:]
    older = [v for v in known if order.key(v) < order.key(own)]
    newer = [v for v in known if order.key(v) > order.key(own)]
    near = [*older[-2:], *newer[:2], *newer[-2:]]
    return list(dict.fromkeys(near))
