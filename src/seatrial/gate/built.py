"""What a compiled engine fixed when it was built."""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding


def baked_in(case: Case, remedy: str) -> Finding | None:
    """Ranks and lengths that the build fixed (NVIDIA/TensorRT-LLM#1992, #1780): an engine of two
    ranks needs two devices, one built for 2048 tokens takes no more."""
    if case.model is None:
        return None
    ranks = int(case.model.trait("build-ranks") or 1)
    length = int(case.model.trait("build-length") or 0)
    if ranks > max(case.target.devices, 1):
        says = f"the engine was built for {ranks} ranks, there are {case.target.devices} devices"
    elif length and case.context and case.context > length:
        says = f"the engine was built for at most {length} tokens, {case.context} are needed"
    else:
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=says,
        numbers={"ranks": ranks, "max_seq_len": length, "context_tokens": case.context},
        remedy=remedy,
    )
