"""The first screen: what was chosen, how sure, what it rests on, when to go back."""

from __future__ import annotations

from typing import Any, cast, get_args

from seatrial.dossier.decided import items
from seatrial.dossier.flat import number, sentence, text_of
from seatrial.dossier.record import Answer, Change, Comparability, Outcome
from seatrial.dossier.trial import Document, Trial
from seatrial.dossier.words import Words

MANY = 4


def answer(trial: Trial, words: Words) -> Answer:
    """The four answers, from decision.json and the cells behind it."""
    decision = trial.decision
    if decision is None:
        return Answer(
            outcome="not_decided",
            headline=words("headline.not_decided"),
            chosen=[],
            sure=[trial.absent.get("decision.json", "")],
            caveats=[],
            rests_on=rests_on(trial, words),
            go_back=[],
            following=[],
        )
    outcome = outcome_of(decision)
    chosen = chosen_of(decision, outcome)
    key = f"headline.{outcome}"
    return Answer(
        outcome=outcome,
        headline=words(key, chosen=" = ".join(chosen) or "–"),
        chosen=chosen,
        sure=[sentence(item) for item in decision.get("reasons") or []],
        caveats=[sentence(item) for item in decision.get("caveats") or []],
        rests_on=rests_on(trial, words),
        go_back=go_back(decision, words),
        following=following(trial, decision, outcome, words),
    )


def outcome_of(decision: Document) -> Outcome:
    """The outcome as decision.json states it; one this version does not know is undecided."""
    stated = decision.get("outcome")
    return cast(Outcome, stated) if stated in get_args(Outcome) else "undecided"


def chosen_of(decision: Document, outcome: str) -> list[str]:
    """The chosen candidate, or the tied ones."""
    selected = decision.get("selected")
    if isinstance(selected, str) and outcome == "selected":
        return [selected]
    if outcome != "tie":
        return []
    tied = [str(t) for t in decision.get("equivalent") or []]
    first = [selected] if isinstance(selected, str) else []
    return [*first, *(t for t in tied if t not in first)]


def rests_on(trial: Trial, words: Words) -> list[str]:
    """Cells, requests, trace and machine that the answer rests on."""
    lines = []
    if trial.cells:
        valid = [c for c in trial.cells if c.valid]
        lines.append(
            words(
                "rests.cells",
                valid=len(valid),
                all=len(trial.cells),
                candidates=len({c.candidate for c in trial.cells}),
                offered=number(sum(c.requests.offered for c in valid)),
            )
        )
    elif trial.gate is not None:
        lines.append(words("rests.gate", n=len(trial.gate.candidates)))
    traffic = trial.workload.get("traffic") or {}
    if isinstance(traffic, dict) and traffic.get("trace"):
        scale = traffic.get("scale")
        key = "rests.trace_scaled" if scale not in (None, 1, 1.0) else "rests.trace"
        lines.append(words(key, trace=text_of(traffic["trace"]), scale=text_of(scale)))
    for name in trial.absent:
        if name in ("quality", "lifecycle", "probes"):
            lines.append(words("rests.without", name=name))
    return lines


def go_back(decision: Document, words: Words) -> list[str]:
    """The roll-back trigger, and the way back."""
    rollback = decision.get("rollback")
    if not isinstance(rollback, dict):
        return []
    trigger = rollback.get("trigger")
    lines = [words("back.trigger", says=sentence(trigger))] if trigger else []
    if previous := rollback.get("previous"):
        because = sentence(rollback.get("previous_because") or "")
        said = f"{sentence(previous)} ({because})" if because else sentence(previous)
        lines.append(words("back.previous", previous=said))
    elif lines:
        lines.append(words("back.none"))
    return lines


def following(trial: Trial, decision: Document, outcome: str, words: Words) -> list[str]:
    """What would settle it, or the cheapest remedies where nobody is feasible."""
    request = decision.get("evidence_request")
    if isinstance(request, dict):
        lines = [
            words(
                "next.cell",
                starts=text_of(cell.get("starts")),
                candidate=text_of(cell.get("candidate")),
                why=text_of(cell.get("why")),
            )
            for cell in items(request, "cells")
        ]
        if request.get("minutes") is not None:
            lines.append(words("next.minutes", minutes=text_of(request["minutes"])))
        if request.get("could_change"):
            lines.append(words("next.change", what=sentence(request["could_change"])))
        return lines
    if outcome != "none_feasible" or trial.gate is None:
        return []
    remedies = [
        words("next.remedy", candidate=row.candidate, remedy=row.reasons[0].remedy)
        for row in trial.gate.candidates
        if row.reasons and row.reasons[0].remedy
    ]
    return remedies[:MANY]


def changes(decision: Document | None) -> list[Change]:
    """What would change the decision, one line each."""
    return [
        Change(
            what=str(item.get("what", "")),
            now=text_of(item.get("now")),
            at=text_of(item.get("turns_at")),
            to=text_of(item.get("to")),
            says=sentence(item),
            basis=str(item.get("basis", "measured")),
        )
        for item in (decision or {}).get("would_change") or []
        if isinstance(item, dict)
    ]


def comparability(trial: Trial, words: Words) -> Comparability | None:
    """Engines or deployments: from the decision, else from the cells' own keys."""
    stated = (trial.decision or {}).get("comparison")
    if isinstance(stated, dict) and stated.get("kind"):
        kind, differs = str(stated["kind"]), [_field(d) for d in stated.get("differs") or []]
    elif len({c.candidate for c in trial.cells}) > 1:
        differs = differing(trial)
        kind = "deployments" if differs else "engines"
    else:
        return None
    key = f"comparison.{kind}"
    says = words(key) if key in words.texts else kind
    return Comparability(kind=kind, differs=differs, says=says)


def _field(item: Any) -> str:
    return str(item["field"]) if isinstance(item, dict) and "field" in item else sentence(item)


def differing(trial: Trial) -> list[str]:
    """Fields of the comparability keys in which the cells differ."""
    # the file differs by format where the weights are the same: ``model`` is their hash
    keys = dict.fromkeys(k for c in trial.cells for k in c.comparability if k != "artefact")
    return [k for k in keys if len({repr(c.comparability.get(k)) for c in trial.cells}) > 1]
