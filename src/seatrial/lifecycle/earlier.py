"""An earlier report of the same candidate: what is not tried again stays as it was.

Trials take minutes, so they are repeated one by one (``--only``). Each carries its own time; a
report of another engine or version is not mixed in.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from seatrial.lifecycle.record import LifecycleReport, NotRun, Trial

NOT_ASKED = "not asked for"
RESULTS = {
    "start": ("cold_start",),
    "drain": ("drain",),
    "kill": ("recovery",),
    "hang": ("hang_detection",),
    "restart": ("restart",),
    "port": ("port_clash",),
    "log": ("full_log",),
    "memory": ("memory_pressure",),
    "change": ("upgrade", "rollback"),
    "endurance": ("endurance",),
}
"""Name of a trial, in their order -> ids of what it yields; one that fails has its name for id."""
_PART = {id: name for name, ids in RESULTS.items() for id in (name, *ids)}
_ORDER = {name: place for place, name in enumerate(RESULTS)}


def merged(
    fresh: LifecycleReport, earlier: LifecycleReport | None, made: Collection[str]
) -> LifecycleReport:
    """The fresh report, with the earlier one's results of all but the trials made.

    Args:
        made: names of ``RESULTS`` that the fresh report stands for.
    """
    if earlier is None or not _alike(fresh, earlier):
        return fresh
    kept = [_dated(t, earlier) for t in earlier.trials if _PART.get(t.id, t.id) not in made]
    first, second = (fresh, earlier) if "start" in made else (earlier, fresh)
    change = fresh if "change" in made else earlier
    return msgspec.structs.replace(
        fresh,
        version=fresh.version or earlier.version,
        cold_start_s=first.cold_start_s or second.cold_start_s,
        warm_start_s=first.warm_start_s or second.warm_start_s,
        drain=(fresh if "drain" in made else earlier).drain,
        recovery_s=(fresh if "kill" in made else earlier).recovery_s,
        upgrade=change.upgrade,
        rollback=change.rollback,
        trials=sorted([*kept, *fresh.trials], key=_place),
        not_run=_not_run(fresh, earlier, {_PART.get(t.id, t.id) for t in kept}),
    )


def _alike(fresh: LifecycleReport, earlier: LifecycleReport) -> bool:
    """Same engine, and the same version as far as either is known (no engine may have started)."""
    versions = {report.version for report in (fresh, earlier) if report.version}
    return fresh.engine == earlier.engine and len(versions) <= 1


def _dated(trial: Trial, report: LifecycleReport) -> Trial:
    at = trial.at or report.provenance.created_at
    return msgspec.structs.replace(trial, at=at)


def _place(trial: Trial) -> int:
    return _ORDER.get(_PART.get(trial.id, trial.id), len(_ORDER))


def _not_run(fresh: LifecycleReport, earlier: LifecycleReport, kept: set[str]) -> list[NotRun]:
    """What has no result in either; why it could not be made outlives "not asked for"."""
    before = {n.id: n for n in earlier.not_run}
    return [
        before.get(n.id, n) if n.because.startswith(NOT_ASKED) else n
        for n in fresh.not_run
        if n.id not in kept
    ]
