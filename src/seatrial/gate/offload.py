"""Weights that a flag sends to the host's memory: whether this release does so for this model.

vLLM's cpu_offload_gb has been refused and ignored in turn: from 0.9.1 to 0.19.1 the first engine
core could not lay its batch out anew for a hybrid's block size while weights were offloaded; from
0.22 to 0.27 the second model runner, the default of ever more classes, installed no offloader and
said nothing (the files are named beside the facts).
"""

from __future__ import annotations

from seatrial.facts import Fact
from seatrial.gate.case import Case

ENGINES = ("vllm", "sglang")


def asked(case: Case) -> float:
    """GiB a device that the candidate wants on the host."""
    return case.set.offload if case.engine in ENGINES else 0.0


def refused(case: Case) -> Fact | None:
    """The fact that this release does not start with the flag and a hybrid's states, or with the
    flag and adapters."""
    model = case.loaded
    if not asked(case) or model is None:
        return None
    if case.set.lora and (fact := case.known.excludes("cpu_offload_gb+lora")) is not None:
        return fact
    return case.known.excludes("cpu_offload_gb+states") if model.recurrent else None


def ignored(case: Case) -> Fact | None:
    """The fact that the flag has no effect on this class, unless a variable chooses the runner
    that heeds it."""
    model = case.loaded
    fact = case.known.excludes("cpu_offload_gb+second_runner") if asked(case) else None
    if fact is None or model is None or case.variable_lifts(fact)[0]:
        return None
    if fact.detail.get("plain") and model.quantization is not None:
        return None
    if case.architecture in fact.detail.get("architectures", []):
        return fact
    dense = not model.shape.experts and not model.recurrent and not model.encoder_only
    return fact if fact.detail.get("dense") and dense else None


def on_host(case: Case) -> float:
    """GiB a device that do go to the host."""
    return 0.0 if refused(case) or ignored(case) else asked(case)
