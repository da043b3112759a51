"""The method that a flag asks for against the one that the checkpoint names."""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact

_STORED = {
    "awq": {"awq", "awq_marlin", "moe_wna16", "ipex", "cpu_awq", "auto_awq"},
    "gptq": {
        "gptq",
        "gptq_marlin",
        "gptq_marlin_24",
        "gptq_bitblas",
        "marlin",
        "moe_wna16",
        "ipex",
        "auto_gptq",
    },
    "bitsandbytes": {"bitsandbytes"},
    "fp8": {"fp8", "fbgemm_fp8", "modelopt", "w8a8_fp8"},
    "compressed-tensors": {"compressed-tensors", "compressed_tensors", "w8a8_int8", "w8a8_fp8"},
}
"""Which values of --quantization vLLM and SGLang take for a checkpoint that names its method."""
_LEAVE_OUT = "leave --quantization out: the checkpoint names its method"
_NEED_CHECKPOINT = {"awq", "awq_marlin", "gptq", "gptq_marlin", "marlin", "squeezellm"}


def slower_by_flag(case: Case) -> Finding | None:
    """vLLM takes Marlin's kernels for AWQ and GPTQ checkpoints where the chip has them, unless the
    flag names the plain method: it says so in one log line and computes with the slow ones."""
    flag = (case.set.quantization or "").lower()
    have = case.quant.method if case.quant and not case.in_flight else None
    gpu = case.target.gpu
    if flag not in {"awq", "gptq"} or have != flag or gpu is None or gpu.vendor != "nvidia":
        return None
    fact = case.known.excludes(f"method_flag+{flag}")
    if fact is None or gpu.capability is None or gpu.capability < 80:
        return None
    what = f"--quantization {flag}"
    return by_fact(case, fact, what, verdict=Verdict.DEGRADED, remedy=_LEAVE_OUT)


def flag_against_checkpoint(case: Case) -> Finding | None:
    """vLLM and SGLang compare --quantization with the checkpoint and refuse what differs."""
    flag = (case.set.quantization or "").lower()
    if case.engine not in {"vllm", "sglang"} or not case.stored_plainly or not flag:
        return None
    have = case.quant.method if case.quant and not case.in_flight else None
    known = set().union(*_STORED.values())
    if have is None and flag in _NEED_CHECKPOINT:
        says = f"--quantization {flag} needs a checkpoint of that method, this one is in 16 bits"
    elif have in _STORED and flag in known and flag not in _STORED[have]:
        says = f"the checkpoint says {have}, --quantization says {flag}: start-up refuses it"
    else:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=says,
        remedy=_LEAVE_OUT
        if have
        else f"leave --quantization out, or a {flag.partition('_')[0].upper()} checkpoint",
    )
