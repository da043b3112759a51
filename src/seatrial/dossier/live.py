"""What was seen on live engines beside the load: probes and lifecycle trials."""

from __future__ import annotations

from typing import Any

from seatrial.dossier.decided import items
from seatrial.dossier.flat import flatten, number, text_of
from seatrial.dossier.operating import event_times
from seatrial.dossier.record import Asked, LifecycleLine, ProbeLine
from seatrial.dossier.trial import Document, Trial

MAX_EVIDENCE = 300


def probes(trial: Trial) -> list[ProbeLine]:
    """One line per probed candidate."""
    return [
        ProbeLine(
            candidate=str(d.get("candidate") or name),
            loads=_finding(d, "loads"),
            optimised_path=_finding(d, "optimised_path"),
            task=_finding(d, "task"),
            asked=[_asked(p) for p in items(d, "probes")],
        )
        for name, d in trial.probes.items()
    ]


def lifecycle(trial: Trial) -> list[LifecycleLine]:
    """One line per candidate that went through the lifecycle."""
    return [
        LifecycleLine(
            candidate=str(d.get("candidate") or name),
            times=event_times(d),
            asked=[_asked(t) for t in items(d, "trials")],
            not_run={str(n.get("id")): text_of(n.get("because")) for n in items(d, "not_run")},
        )
        for name, d in trial.lifecycle.items()
    ]


def _finding(document: Document, name: str) -> str:
    found = (document.get("findings") or {}).get(name)
    return str(found.get("verdict", "unknown")) if isinstance(found, dict) else "unknown"


def _asked(item: Document) -> Asked:
    unit = str(item.get("unit") or "")
    return Asked(
        id=str(item.get("id", "")),
        required=bool(item.get("required", False)),
        verdict=str(item.get("verdict", "unknown")),
        value=_quantity(item.get("value"), unit),
        limit=_quantity(item.get("limit"), unit),
        says=_evidence(item.get("evidence")),
    )


def _quantity(value: Any, unit: str) -> str:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{number(value)} {unit}".rstrip() if known else ""


def _evidence(value: Any) -> str:
    """The sentence of the evidence, else its values in short."""
    if isinstance(value, dict) and isinstance(said := value.get("says"), str):
        return said
    text = "; ".join(f"{k} {text_of(v)}" for k, v in flatten(value) if v is not None)
    return text if len(text) <= MAX_EVIDENCE else f"{text[:MAX_EVIDENCE]}…"
