"""What the result cannot be carried over to: every scaling done to the traffic, and the rest."""

from __future__ import annotations

from typing import Any

from seatrial.dossier.flat import text_of
from seatrial.dossier.trial import Trial
from seatrial.dossier.words import Words

_FACTORS = {"rate_factor": "rate", "input_factor": "input", "output_factor": "output"}


def limits(trial: Trial, words: Words) -> list[str]:
    """Sentences: the scaling of workload.resolved.json, its assumptions, machine and model."""
    scaling = trial.workload.get("scaling")
    lines = _scaled(scaling if isinstance(scaling, dict) else {}, words)
    lines += [str(said) for said in trial.workload.get("assumptions") or []]
    if trial.cells:
        lines += [words("limits.machine"), words("limits.model")]
    return lines


def _scaled(scaling: dict[str, Any], words: Words) -> list[str]:
    lines = []
    for key, name in _FACTORS.items():
        if scaling.get(key) not in (None, 1, 1.0):
            lines.append(words(f"limits.{name}", value=text_of(scaling[key])))
    for name in ("input", "output"):
        if scaling.get(f"{name}_capped"):
            lines.append(
                words(
                    "limits.capped",
                    n=text_of(scaling[f"{name}_capped"]),
                    name=words(f"axis.{name}_tokens"),
                    value=text_of(scaling.get(f"max_{name}_tokens")),
                )
            )
    whole, used = scaling.get("requests_in"), scaling.get("requests")
    if whole and used and whole != used:
        lines.append(words("limits.slice", used=text_of(used), all=text_of(whole)))
    if scaling.get("kind") in ("synthetic", "people"):
        lines.append(words("limits.synthetic"))
    return lines
