"""What was measured, per candidate and per cell: numbers over server starts, never one alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from seatrial.bench.cell import Cell, Summary
from seatrial.dossier.flat import flatten, text_of
from seatrial.dossier.record import (
    CandidateLine,
    CellLine,
    FindingLine,
    Measured,
    Setting,
    Settings,
)
from seatrial.dossier.slo import Slo
from seatrial.dossier.trial import Trial
from seatrial.stats.interval import Interval
from seatrial.stats.mean import mean_interval

_METRIC = {"error_rate": "failure_rate"}  # SLO key -> the metric it limits
Read = Callable[[Cell], float | None]


def order(trial: Trial, chosen: list[str]) -> list[str]:
    """Measured candidates: the chosen first, then as the gate lists them, then by name."""
    seen = dict.fromkeys(c.candidate for c in trial.cells)
    listed = [row.candidate for row in trial.gate.candidates] if trial.gate else []
    ranked = [*chosen, *listed, *seen]
    return [c for c in dict.fromkeys(ranked) if c in seen]


def candidates(trial: Trial, names: list[str], chosen: list[str], slo: Slo) -> list[CandidateLine]:
    """The comparison table, one line per measured candidate."""
    roles = {r.candidate: r.role for r in trial.gate.candidates} if trial.gate else {}
    lines = []
    for name in names:
        own = [c for c in trial.cells if c.candidate == name]
        valid = [c for c in own if c.valid]
        lines.append(
            CandidateLine(
                candidate=name,
                role=roles.get(name, "candidate"),
                chosen=name in chosen,
                starts=len(own),
                valid=len(valid),
                metrics=[m for m in _metrics(valid, slo) if any(v is not None for v in m.per_start)]
                if valid
                else [],
            )
        )
    checks = slo_checks(trial)
    return [_decided(line, checks) for line in lines]


def _metrics(cells: list[Cell], slo: Slo) -> list[Measured]:
    found = []
    for metric in ("ttft_ms", "tpot_ms", "e2e_ms"):
        limits = slo.latency.get(metric, {})
        for name in ("p50", "p95", "p99"):
            read = _summary(metric, name)
            found.append(_over(cells, f"{metric}.{name}", "ms", read, limits.get(name), True))
    found += [
        _over(
            cells,
            "output_tokens_per_s",
            "tokens/s",
            lambda c: c.output_tokens_per_s,
            slo.output_tokens_per_s,
            False,
        ),
        _over(cells, "goodput", "share", lambda c: c.goodput, slo.goodput, False),
        _over(cells, "failure_rate", "share", lambda c: c.failure_rate, slo.error_rate, True),
        _over(cells, "rss_peak", "bytes", _resource("rss_peak_bytes"), None, True),
        _over(cells, "gpu_mem_peak", "bytes", _resource("gpu_mem_peak_bytes"), None, True),
        _over(cells, "cold_start", "s", _cold_start, None, True),
    ]
    return found


def _over(
    cells: list[Cell], metric: str, unit: str, read: Read, limit: float | None, below: bool
) -> Measured:
    values = [read(c) for c in cells]
    known = [float(v) for v in values if v is not None]
    interval = _possible(mean_interval(known), unit) if len(known) > 1 else None
    return Measured(
        metric=metric,
        unit=unit,
        per_start=values,
        over_starts=interval,
        limit=limit,
        slo=_standing(interval, limit, below) if limit is not None else "",
    )


def _possible(interval: Interval, unit: str) -> Interval:
    """No quantity here is negative and no share is above 1; Student's t does not know that."""
    top = 1.0 if unit == "share" else interval.high
    return msgspec.structs.replace(
        interval, low=max(0.0, interval.low), high=min(top, interval.high)
    )


def _standing(interval: Interval | None, limit: float, below: bool) -> str:
    """met or missed where the whole interval says so, else unproven."""
    if interval is None:
        return "unproven"
    if below:
        return "met" if interval.high <= limit else "missed" if interval.low > limit else "unproven"
    return "met" if interval.low >= limit else "missed" if interval.high < limit else "unproven"


def _decided(line: CandidateLine, checks: dict[tuple[str, str], str]) -> CandidateLine:
    """The decision's own SLO verdicts in place of those read off the interval."""
    metrics = [
        msgspec.structs.replace(m, slo=checks.get((line.candidate, m.metric), m.slo))
        for m in line.metrics
    ]
    return msgspec.structs.replace(line, metrics=metrics)


def slo_checks(trial: Trial) -> dict[tuple[str, str], str]:
    """(candidate, metric) -> met, missed or unproven, as decision.json has it."""
    return {
        (str(c.get("candidate")), _METRIC.get(slo := str(c.get("slo")), slo)): str(c.get("verdict"))
        for c in (trial.decision or {}).get("slo") or []
        if isinstance(c, dict)
    }


def _summary(metric: str, name: str) -> Read:
    def read(cell: Cell) -> float | None:
        summary: Summary = getattr(cell, metric)
        value: float | None = getattr(summary, name)
        return value

    return read


def _resource(name: str) -> Read:
    def read(cell: Cell) -> float | None:
        value = cell.resources.get(name)
        return float(value) if value is not None else None

    return read


def _cold_start(cell: Cell) -> float | None:
    """From the start of the process to the first token; None where that is not known."""
    whole = cell.cold_start_s.get("total")
    return whole if whole is not None else cell.cold_start_s.get("first_token")


def cell_lines(trial: Trial) -> list[CellLine]:
    """Validity of every cell."""
    return [
        CellLine(
            candidate=cell.candidate,
            start=cell.start,
            valid=cell.valid,
            invalid_because=list(cell.invalid_because),
            requests={
                name: getattr(cell.requests, name) for name in cell.requests.__struct_fields__
            },
            duration_s=cell.duration_s,
            lateness_p99_ms=cell.client.lateness_ms.get("p99"),
            loop_lag_p99_ms=cell.client.loop_lag_ms.get("p99"),
            cpu_share=cell.client.cpu_share,
            findings=[
                FindingLine(id=f.id, level=f.level, says=f.says, evidence=f.evidence)
                for f in cell.findings
            ],
        )
        for cell in trial.cells
    ]


def settings(trial: Trial, names: list[str]) -> Settings:
    """Effective settings side by side, the differing ones first."""
    columns = [_effective(trial, name) for name in names]
    keys = dict.fromkeys(key for column in columns for key in column)
    rows = []
    for key in keys:
        values = [column.get(key) for column in columns]
        rows.append(Setting(key=key, values=values, differs=len(set(values)) > 1))
    return Settings(candidates=names, rows=sorted(rows, key=lambda r: not r.differs))


def _effective(trial: Trial, name: str) -> dict[str, str | None]:
    """Settings of one candidate; where its starts differ from each other, all values."""
    merged: dict[str, list[str]] = {}
    for cell in trial.cells:
        if cell.candidate != name:
            continue
        for key, value in flatten(cell.effective):
            seen = merged.setdefault(key, [])
            text = _setting_text(value)
            if text not in seen:
                seen.append(text)
    return {key: " | ".join(values) for key, values in merged.items()}


def _setting_text(value: Any) -> str:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(value)
    return text if len(text) <= 400 else f"{text[:400]}…"
