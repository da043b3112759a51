"""What decision.json holds beside its answer: SLOs, differences, platform costs, the rule's steps.

An interval may be open: JSON writes infinity as null, and null is shown as an open end.
"""

from __future__ import annotations

from typing import Any

from seatrial.dossier.flat import sentence, text_of
from seatrial.dossier.record import Difference, PlatformRow, QualityLine, SloLine, Span, StepLine
from seatrial.dossier.trial import Document, Trial

_OPERATING = (
    ("weights_bytes", "bytes"),
    ("image_bytes", "bytes"),
    ("rss_peak_bytes", "bytes"),
    ("gpu_mem_peak_bytes", "bytes"),
    ("cold_start_s", "s"),
    ("recovery_s", "s"),
    ("drain_lost", ""),
    ("upgrade_s", "s"),
    ("rollback_s", "s"),
)
_COST = (("good_output_tokens_per_s", "tokens/s"), ("usd_per_million_output_tokens", "USD"))


def items(decision: Document | None, key: str) -> list[Document]:
    """The objects in a list of decision.json; empty where there is none."""
    found = (decision or {}).get(key)
    return [i for i in found if isinstance(i, dict)] if isinstance(found, list) else []


def span(value: Any) -> Span | None:
    """An interval record as low, best, high; None where there is none."""
    if not isinstance(value, dict):
        return None
    return Span(
        low=_float(value.get("low")), best=_float(value.get("best")), high=_float(value.get("high"))
    )


def slo_lines(trial: Trial) -> list[SloLine]:
    """Every SLO upon every candidate, with the share that attained it and the share it needs."""
    return [
        SloLine(
            candidate=str(c.get("candidate", "")),
            slo=str(c.get("slo", "")),
            limit=_float(c.get("limit")),
            value=_float(c.get("value")),
            attained=span(c.get("attained")),
            needed=_float(c.get("needed")),
            verdict=str(c.get("verdict", "")),
            says=sentence(c),
        )
        for c in items(trial.decision, "slo")
    ]


def differences(trial: Trial) -> list[Difference]:
    """Candidate against candidate; the first ones decided, the later ones are told beside."""
    return [
        Difference(
            metric=str(c.get("metric", "")),
            a=str(c.get("a", "")),
            b=str(c.get("b", "")),
            outcome=str(c.get("outcome", "")),
            scale=str(c.get("scale", "")),
            ratio=span(c.get("ratio")),
            delta=span(c.get("delta")),
            margin=_float((trial.decision or {}).get("margin")),
            starts=[int(c.get("starts_a") or 0), int(c.get("starts_b") or 0)],
            decided=key == "comparisons",
        )
        for key in ("comparisons", "secondary")
        for c in items(trial.decision, key)
    ]


def platform(trial: Trial, names: list[str]) -> list[PlatformRow]:
    """What it takes to run each candidate, one row per quantity that anybody has."""
    ops = {str(o.get("candidate")): o for o in items(trial.decision, "operations")}
    costs = {str(c.get("candidate")): c for c in items(trial.decision, "costs")}
    rows = []
    for key, unit in _OPERATING:
        values = [_float(ops.get(name, {}).get(key)) for name in names]
        rows.append(_row(key, unit, [v and Span(low=None, best=v, high=None) for v in values]))
    for key, unit in _COST:
        rows.append(_row(key, unit, [span(costs.get(name, {}).get(key)) for name in names]))
    return [row for row in rows if any(v is not None for v in row.values)]


def _row(key: str, unit: str, values: list[Any]) -> PlatformRow:
    return PlatformRow(
        key=key, unit=unit, values=[v if isinstance(v, Span) else None for v in values]
    )


def quality(trial: Trial) -> list[QualityLine]:
    """The findings of the quality check that compare with a reference."""
    return [
        QualityLine(
            candidate=str(d.get("candidate", name)),
            reference=str(d.get("reference", "")),
            verdict=str(d.get("verdict", "")),
            n=int(d.get("n") or 0),
            margin=_float(d.get("margin")),
            kl=span(d.get("kl")),
            agreement=span(d.get("agreement")),
            agreement_floor=_float(d.get("agreement_floor")),
            says=sentence(d),
        )
        for name, d in trial.quality.items()
        if _compares(d)
    ]


def quality_more(trial: Trial) -> dict[str, Document]:
    """What else stands in quality/."""
    return {name: d for name, d in trial.quality.items() if not _compares(d)}


def _compares(document: Document) -> bool:
    return isinstance(document.get("kl"), dict)


def steps(trial: Trial) -> list[StepLine]:
    """The rule's own trace: what each step found, and the hashes of what it read."""
    return [
        StepLine(
            rule=str(step.get("rule", "")),
            says=sentence(step),
            inputs={str(k): text_of(v) for k, v in (step.get("inputs") or {}).items()},
        )
        for step in items(trial.decision, "trace")
    ]


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
