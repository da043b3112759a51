"""What it takes to run the choice: lifecycle times and losses, the platform's part, deployment.

Times and losses are those of lifecycle/CANDIDATE.json: a row per event, with what became of the
requests that were in flight. Deployment files are made for the selected candidate from what ran in
the trial; where none can be made, the reason stands in their place.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.core.errors import SeatrialError
from seatrial.dossier.decided import items
from seatrial.dossier.record import Deployment, EventTime, NeedLine
from seatrial.dossier.trial import Document, Trial

_STARTS = (("cold_start", "cold_start_s"), ("warm_start", "warm_start_s"))
_CHANGES = ("upgrade", "rollback")
_WHOLE = ("total", "first_token")


def event_times(document: Document) -> list[EventTime]:
    """Starts, drain, recovery, upgrade and roll-back of one candidate, as far as they were made."""
    found = [_start(id, document.get(key)) for id, key in _STARTS]
    found.append(_drain(document.get("drain")))
    recovery = _number(document.get("recovery_s"))
    if recovery is not None:
        found.append(EventTime(id="recovery", s=recovery, phases={}, finished=None, lost=None))
    found += [_change(id, document.get(id)) for id in _CHANGES]
    return [event for event in found if event is not None]


def _start(id: str, phases: Any) -> EventTime | None:
    if not isinstance(phases, dict):
        return None
    known = {str(k): v for k, value in phases.items() if (v := _number(value)) is not None}
    whole = next((known[k] for k in _WHOLE if k in known), None)
    parts = {k: v for k, v in known.items() if k not in _WHOLE or "total" in known}
    parts.pop("total", None)
    return EventTime(id=id, s=whole, phases=parts, finished=None, lost=None) if known else None


def _drain(drain: Any) -> EventTime | None:
    """Lost in a drain: cut answers and requests that were refused after the signal."""
    if not isinstance(drain, dict):
        return None
    cut, refused = int(drain.get("cut") or 0), int(drain.get("refused") or 0)
    return EventTime(
        id="drain_killed" if drain.get("killed") else "drain",
        s=_number(drain.get("s")),
        phases={},
        finished=int(drain.get("finished") or 0),
        lost=cut + refused,
    )


def _change(id: str, change: Any) -> EventTime | None:
    if not isinstance(change, dict):
        return None
    return EventTime(
        id=id,
        s=_number(change.get("s")),
        phases={},
        finished=int(change["served"]) if "served" in change else None,
        lost=int(change.get("lost") or 0),
    )


def needs(trial: Trial) -> list[NeedLine]:
    """What the workload asks of the platform, and the layer that must bring it."""
    return [
        NeedLine(
            feature=str(n.get("feature", "")),
            layer=str(n.get("layer", "")),
            provided=n["provided"] if isinstance(n.get("provided"), bool) else None,
            says=str(n.get("says", "")),
        )
        for n in items(trial.decision, "platform")
    ]


def deployment(trial: Trial) -> Deployment:
    """Files for the selected candidate; without a selection, the reason why there are none."""
    from seatrial.decide import load_trial
    from seatrial.decide.deploy import files_of
    from seatrial.decide.record import Decision

    if not isinstance((trial.decision or {}).get("selected"), str):
        return Deployment(candidate="", files={}, because="nothing was selected")
    try:
        decision = msgspec.convert(trial.decision, Decision, strict=False)
        files = files_of(load_trial(trial.folder), decision)
    except (ValueError, StopIteration, SeatrialError) as error:
        return Deployment(candidate="", files={}, because=str(error).partition("\n")[0])
    return Deployment(candidate=decision.selected or "", files=files, because="")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
