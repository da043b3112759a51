"""The three findings: loads, runs on an optimised path, does the task.

None of them is ever derived from another. The path is judged by what the engine's log says of
its backends; how much of the memory's bandwidth the decoding reaches is shown beside it as a
number and judges nothing (a roofline share depends on batch, length and neighbours).
"""

from __future__ import annotations

from typing import Any

from seatrial.engines import RunningEngine
from seatrial.engines.signatures import Match
from seatrial.probe.record import Finding, Findings, Probe


def findings(
    engine: RunningEngine,
    probes: list[Probe],
    matches: list[Match],
    roofline: dict[str, Any] | None,
    task: Finding | None,
) -> Findings:
    """All three; ``task`` comes from a quality check, and is unknown without one."""
    return Findings(
        loads=loads(engine, probes),
        optimised_path=optimised_path(engine, matches, roofline),
        task=task
        or Finding(
            verdict="unknown",
            evidence={"says": "probes do not judge the task: run seatrial quality"},
        ),
    )


def loads(engine: RunningEngine, probes: list[Probe]) -> Finding:
    """It loads if a real request came back with text; health alone says nothing."""
    answer = next((p for p in probes if p.id == "answers"), None)
    evidence: dict[str, Any] = {"cold_start_s": engine.cold_start_s}
    if answer is None:
        return Finding(verdict="unknown", evidence=evidence)
    verdict = answer.verdict
    return Finding(verdict=verdict, evidence={**evidence, "answer": answer.evidence})


def optimised_path(
    engine: RunningEngine, matches: list[Match], roofline: dict[str, Any] | None
) -> Finding:
    """pass: the log names an optimised backend and no fallback; degraded: it names a fallback."""
    bad = [m for m in matches if m.optimised is False]
    good = [m for m in matches if m.optimised is True]
    evidence: dict[str, Any] = {
        "for": [m.says for m in good],
        "against": [m.says for m in bad],
        "backend": None if engine.log is None else engine.adapter.name,
    }
    if roofline is not None:
        evidence["roofline"] = roofline
    if any(m.level == "failure" for m in bad):
        return Finding(verdict="fail", evidence=evidence)
    if bad:
        return Finding(verdict="degraded", evidence=evidence)
    if good:
        return Finding(verdict="pass", evidence=evidence)
    says = "no log to read" if engine.log is None else "the log names no backend"
    return Finding(verdict="unknown", evidence={**evidence, "says": says})
