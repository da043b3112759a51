"""BLIS (inference-sim/inference-sim), a simulator of vLLM: its metrics as JSON.

Nothing in it was measured. It is read as evidence of grade ``simulated``, the lowest: it may be
laid beside what was measured, and never takes its place. Of SGLang Simulator and AISimulate no
real result file was found; the former writes what SGLang's bench_serving writes and is not told
apart from it, the latter is not read.
"""

from __future__ import annotations

from typing import Any

from seatrial.bench.foreign.evidence import (
    NEVER,
    SCHEMA,
    STATISTICS,
    Evidence,
    Number,
    number,
    text,
    whole,
)

_NAMES = {
    "ttft_ms": ("ttft", "simulated first token - arrival"),
    "itl_ms": ("itl", "simulated time between tokens"),
    "e2e_ms": ("e2e", "simulated last token - arrival"),
}


def is_blis(value: dict[str, Any]) -> bool:
    """Whether an object is BLIS's: its own spelling of the means, and a simulated duration."""
    return "ttft_mean_ms" in value and "vllm_estimated_duration_s" in value


def read(value: dict[str, Any], source: str, sha256: str) -> Evidence:
    """Evidence of one simulation."""
    completed = whole(value.get("completed_requests"))
    metrics = {ours: _number(value, *theirs, completed) for ours, theirs in _NAMES.items()}
    return Evidence(
        schema=SCHEMA,
        tool="blis",
        tool_version=None,
        grade="simulated",
        source=source,
        sha256=sha256,
        model=text(value.get("model")),
        requests={"offered": None, "completed": completed, "failed": None, "cancelled": None},
        duration_s=number(value.get("vllm_estimated_duration_s")),
        output_tokens=whole(value.get("total_output_tokens")),
        output_tokens_per_s=number(value.get("tokens_per_sec")),
        metrics={name: m for name, m in metrics.items() if m is not None},
        load={"input_tokens": whole(value.get("total_input_tokens"))},
        missing=["any measurement: it is a simulation", "its error on this hardware", *NEVER[1:]],
    )


def _number(
    value: dict[str, Any], stem: str, definition: str, completed: int | None
) -> Number | None:
    found = {name: number(value.get(f"{stem}_{name}_ms")) for name in STATISTICS}
    if all(v is None for v in found.values()):
        return None
    return Number(unit="ms", definition=definition, statistics=found, n=completed)
