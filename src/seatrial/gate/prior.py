"""The order in which survivors are tried: a prior from what engines are made for, no verdict.

Points come from the workload's own keys and from facts (school, platform, build, what the team
operates); they say what to measure first and never who is faster.
"""

from __future__ import annotations

import msgspec

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.table import GateRow
from seatrial.workload.spec import Workload

_WIDE = 400
_TRIED = (Verdict.FEASIBLE, Verdict.DEGRADED, Verdict.CONDITIONAL, Verdict.UNKNOWN)
_RANK = {verdict: rank for rank, verdict in enumerate(_TRIED)}


def points(case: Case) -> tuple[float, list[str]]:
    """(points, why) of one candidate under its workload."""
    spec, engine = case.spec, case.engine
    total, why = 0.0, []

    def add(value: float, because: str) -> None:
        nonlocal total
        total += value
        why.append(f"{value:+g} {because}")

    if engine in spec.team.engines_operated:
        add(2, "the team operates it")
    if case.target.on_cpu or case.target.vendor == "apple":
        if engine == "llama.cpp":
            add(4, "local, CPU or Mac with GGUF: llama.cpp")
        if engine == "ollama":
            add(2, "local, CPU or Mac with GGUF: Ollama")
    elif case.form != "gguf" and case.target.vendor == "nvidia":
        if engine in {"vllm", "sglang", "tensorrt-llm"}:
            add(3, "Safetensors on NVIDIA for many users")
        if engine == "lmdeploy" and case.quant and case.quant.scheme == "w4a16":
            add(2, "W4A16 is TurboMind's own kernel")
    prefix = case.known.get("memory_management", "prefix_cache")
    if spec.requires.prefix_cache and prefix is not None and "radix" in str(prefix.value):
        add(2, "long shared prefixes: a radix tree finds partial matches")
    changes = spec.team.model_changes_per_month
    if changes is not None and changes >= 1:
        if case.builds:
            add(-3, "a build at every change of model")
        if len(case.known.all("architecture")) >= _WIDE and case.form != "gguf":
            add(1, "models change often: a wide registry")
    elif changes == 0 and "extreme" in (case.known.value("school", "engine") or []):
        add(2, "one fixed model: what is made for the last per cent of one card pays")
    if engine == "transformers":
        add(-2, "the reference, not a server for many users")
    return total, why


def order_of_trials(rows: list[GateRow], spec: Workload, cases: dict[str, Case]) -> list[GateRow]:
    """Rows with ``order`` set for those that may be tried; the rows keep their places."""
    open_rows = [r for r in rows if r.verdict in _RANK]
    ranked = sorted(
        open_rows,
        key=lambda r: (
            _RANK[r.verdict] >= _RANK[Verdict.CONDITIONAL],
            -points(cases[r.candidate])[0],
            _RANK[r.verdict],
        ),
    )
    place = {r.candidate: n for n, r in enumerate(ranked, 1)}
    return [msgspec.structs.replace(r, order=place.get(r.candidate)) for r in rows]
