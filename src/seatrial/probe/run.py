"""Putting all the questions to one live engine, in an order that disturbs it least first."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from seatrial.core.errors import EngineError
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import provenance
from seatrial.engines import RunningEngine
from seatrial.probe.catalogue import questions, required_ids
from seatrial.probe.findings import findings
from seatrial.probe.record import SCHEMA, Answer, Finding, Probe, ProbeReport, failed, unknown
from seatrial.probe.roofline import roofline
from seatrial.probe.subject import Subject
from seatrial.workload.spec import Requires, Workload


def run(
    engine: RunningEngine,
    spec: Workload | None = None,
    *,
    candidate: str = "",
    only: Collection[str] | None = None,
    task: Finding | None = None,
    attainable_bytes_per_s: float | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> ProbeReport:
    """Probe a live engine.

    Args:
        spec: what is required; None: only that it answers and streams.
        only: ids of probes to run; None: all.
        task: the finding of a quality check, if there has been one.
        attainable_bytes_per_s: memory bandwidth for the roofline share; None: measured (CPU).

    An engine that dies of a probe fails that probe; the rest is then unknown.
    """
    progress = progress or Silent()
    requires = spec.requires if spec else Requires()
    needed = required_ids(spec)
    subject = Subject(engine, requires, seed)
    results: list[Probe] = []
    asked = [(i, q) for i, q in questions(requires) if only is None or i in only]
    for number, (name, question) in enumerate(asked):
        progress.amount("probe", number, len(asked), "probes")
        if not engine.alive():
            answer = unknown("the engine is not running any more")
        else:
            answer = _ask(subject, question, name)
        if answer.verdict == "fail":
            progress.step("probe", f"{name}: {answer.evidence.get('says', 'fail')}")
        results.append(
            Probe(
                id=name,
                required=name in needed,
                verdict=answer.verdict,
                evidence=answer.evidence,
            )
        )
    progress.amount("probe", len(asked), len(asked), "probes")
    matches = engine.findings()
    share = roofline(subject, attainable_bytes_per_s) if engine.alive() else None
    version = subject.effective.get("version")
    return ProbeReport(
        schema=SCHEMA,
        candidate=candidate,
        engine=engine.adapter.name,
        version=version if isinstance(version, str) else None,
        endpoint=engine.base_url,
        findings=findings(engine, results, matches, share, task),
        probes=results,
        effective=subject.effective,
        log_findings=[msgspec.to_builtins(m) for m in matches],
        provenance=provenance(seeds={"probe": seed}),
    )


def _ask(subject: Subject, question: object, name: str) -> Answer:
    """One question; what the engine does to the connection is an answer too."""
    assert callable(question)
    try:
        answer = question(subject)
    except EngineError as error:
        return failed(error.what)
    assert isinstance(answer, Answer), name
    if not subject.engine.alive():
        return failed("the engine died during this probe", **answer.evidence)
    return answer
