"""The elimination table after probing: gate + what live engines showed.

A probe settles what the gate could not know (an ``unknown``), and strikes out what fails a
required contract. It never turns an ``infeasible`` by arithmetic or fact into a pass, and it
leaves gate.json as it is: the merged table is ``elimination.json`` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from seatrial.core.verdict import Verdict, worst
from seatrial.gate.table import GateRow, GateTable, Reason
from seatrial.probe.record import ProbeReport

NAME = "elimination.json"
BY_LOADING = frozenset({"facts", "boot_log", "real_request", "read_artefact", "pool_size"})
"""Probes of the gate that a start with a real generation answers."""
BY_KERNEL = frozenset({"load_and_kernel"})
_PATH = {"pass": Verdict.FEASIBLE, "degraded": Verdict.DEGRADED}


def after_probes(table: GateTable, reports: Mapping[str, ProbeReport]) -> GateTable:
    """The table with each probed row judged again; rows without a report stay as they are."""
    rows = [
        _judged(row, reports[row.candidate]) if row.candidate in reports else row
        for row in table.candidates
    ]
    return msgspec.structs.replace(table, candidates=rows)


def _judged(row: GateRow, report: ProbeReport) -> GateRow:
    reasons = [_settled(reason, report) for reason in row.reasons]
    reasons += _failures(report)
    order = sorted(reasons, key=lambda r: -_WEIGHT[r.verdict])
    return msgspec.structs.replace(
        row, reasons=order, verdict=worst(reason.verdict for reason in reasons)
    )


_WEIGHT = {verdict: rank for rank, verdict in enumerate(Verdict)}


def _settled(reason: Reason, report: ProbeReport) -> Reason:
    if reason.verdict is not Verdict.UNKNOWN or reason.probe is None:
        return reason
    found = report.findings
    verdict = None
    if reason.probe.id in BY_LOADING and found.loads.verdict == "pass":
        verdict = Verdict.FEASIBLE
    elif reason.probe.id in BY_KERNEL:
        verdict = _PATH.get(found.optimised_path.verdict)
    if verdict is None:
        return reason
    return msgspec.structs.replace(
        reason,
        verdict=verdict,
        says=f"settled by a probe: it loads this here and generates; before: {reason.says}",
        remedy="",
        probe=None,
    )


def _failures(report: ProbeReport) -> list[Reason]:
    reasons = [
        _reason(f"probe.{probe.id}", str(probe.evidence.get("says") or f"{probe.id} failed"))
        for probe in report.probes
        if probe.required and probe.verdict == "fail"
    ]
    if report.findings.loads.verdict == "fail":
        says = str(report.findings.loads.evidence.get("says") or "it does not load here")
        reasons.append(_reason("probe.loads", says))
    return reasons


def _reason(constraint: str, says: str) -> Reason:
    return Reason(
        constraint=constraint,
        verdict=Verdict.INFEASIBLE,
        says=f"seen on the running engine: {says}",
        numbers={},
        facts=[],
        remedy="another version or another engine; the probe's evidence is in probes/",
    )
