"""The elimination table with the facts behind it: sources, and how old they were that day."""

from __future__ import annotations

import datetime
from typing import Any

from seatrial.dossier.decided import items
from seatrial.dossier.flat import sentence, text_of
from seatrial.dossier.record import EliminationRow, FactLine, ReasonLine
from seatrial.dossier.trial import Document, Trial
from seatrial.gate.table import GateRow, Reason


def elimination(trial: Trial) -> list[EliminationRow]:
    """Every candidate with its verdict; the probes' and the lifecycle's refusals follow."""
    rows = [_row(row) for row in trial.gate.candidates] if trial.gate else []
    after = [
        found
        for stage, documents in (("probe", trial.probes), ("lifecycle", trial.lifecycle))
        for name, document in documents.items()
        if (found := _after(stage, name, document)) is not None
    ]
    out = {row.candidate for row in rows if row.verdict == "infeasible"}
    return [*rows, *(a for a in after if a.candidate not in out), *_excluded(trial)]


def _excluded(trial: Trial) -> list[EliminationRow]:
    """Who was on trial and is out by the decision: an SLO, the quality check, a limit."""
    versions = (
        {r.candidate: (r.engine, r.version) for r in trial.gate.candidates} if trial.gate else {}
    )
    rows = []
    for item in items(trial.decision, "excluded"):
        candidate = str(item.get("candidate", ""))
        engine, version = versions.get(candidate, ("", None))
        reason = ReasonLine(
            constraint=str(item.get("constraint", "")),
            verdict="infeasible",
            says=sentence(item),
            numbers={},
            facts=[],
            remedy=str(item.get("remedy", "")),
            probe="",
        )
        rows.append(
            EliminationRow(
                candidate=candidate,
                engine=engine,
                version=version,
                verdict="infeasible",
                role="candidate",
                stage="decision",
                reasons=[reason],
            )
        )
    return rows


def _row(row: GateRow) -> EliminationRow:
    return EliminationRow(
        candidate=row.candidate,
        engine=row.engine,
        version=row.version,
        verdict=str(row.verdict),
        role=row.role,
        stage="gate",
        reasons=[_reason(reason) for reason in row.reasons],
    )


def _reason(reason: Reason) -> ReasonLine:
    return ReasonLine(
        constraint=reason.constraint,
        verdict=str(reason.verdict),
        says=reason.says,
        numbers=dict(reason.numbers),
        facts=list(reason.facts),
        remedy=reason.remedy,
        probe=reason.probe.command if reason.probe else "",
    )


def _after(stage: str, name: str, document: Document) -> EliminationRow | None:
    """A candidate that a later stage struck out: a required probe failed, a limit was broken."""
    failed = [
        p
        for key in ("probes", "trials")
        for p in items(document, key)
        if p.get("verdict") == "fail" and p.get("required", True)
    ]
    if not failed and document.get("verdict") not in ("infeasible", "fail"):
        return None
    reasons = [
        ReasonLine(
            constraint=str(p.get("id", stage)),
            verdict="infeasible",
            says=sentence(p.get("evidence")),
            numbers={},
            facts=[],
            remedy="",
            probe="",
        )
        for p in failed or [{"id": stage, "evidence": document.get("because") or document}]
    ]
    return EliminationRow(
        candidate=str(document.get("candidate") or name),
        engine=str(document.get("engine") or ""),
        version=None,
        verdict="infeasible",
        role="candidate",
        stage=stage,
        reasons=reasons,
    )


def facts(trial: Trial) -> list[FactLine]:
    """The facts that reasons name, in the order in which they are named."""
    by_id = {str(f.get("id")): f for f in trial.facts}
    day = _day(trial.gate.provenance.created_at[:10]) if trial.gate else None
    used: dict[str, list[str]] = {}
    for row in trial.gate.candidates if trial.gate else []:
        for reason in row.reasons:
            for fact in reason.facts:
                users = used.setdefault(fact, [])
                if row.candidate not in users:
                    users.append(row.candidate)
    return [_fact(id, by_id.get(id, {}), users, day) for id, users in used.items()]


def _fact(id: str, fact: Document, users: list[str], day: datetime.date | None) -> FactLine:
    source = fact.get("source")
    source = source if isinstance(source, dict) else {}
    verified = str(fact.get("verified_on") or "")
    read_on = _day(verified[:10])
    return FactLine(
        id=id,
        engine=str(fact.get("engine") or ""),
        version=str(fact.get("version") or ""),
        predicate=str(fact.get("predicate") or ""),
        subject=str(fact.get("subject") or ""),
        value=_value(fact.get("value")),
        state=str(fact.get("state") or "missing"),
        source=_source(source),
        sha256=str(source.get("sha256") or ""),
        verified_on=verified,
        expires=str(fact.get("expires") or ""),
        age_days=(day - read_on).days if day and read_on else None,
        used_by=users,
    )


def _source(source: dict[str, Any]) -> str:
    place = ":".join(str(p) for p in (source.get("member"), source.get("line")) if p)
    return " · ".join(p for p in (str(source.get("artefact") or ""), place) if p)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(text_of(v) for v in value)
    return sentence(value)


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None
