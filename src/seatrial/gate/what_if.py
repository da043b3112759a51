"""``--what-if gpu=l4``: the same workload with one thing changed, and nothing written.

A change is ``name=value``. Names of the hardware, of the requirements and of the placement are
understood; ``tp``, ``pp``, ``dp`` and any engine flag go into every candidate's ``args``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.core.errors import UsageError
from seatrial.workload.check import require_sense
from seatrial.workload.spec import CandidateSpec, Workload

_HARDWARE = ("gpu", "count", "nodes", "interconnect", "driver", "memory_gb", "disk_gb_per_s")
_REQUIRES = (
    "context_tokens",
    "concurrency",
    "kv_cache_dtype",
    "prefix_cache",
    "speculative",
    "structured_output",
    "vision",
    "tools",
    "logprobs",
)
_TP = {
    "vllm": "tensor_parallel_size",
    "sglang": "tp_size",
    "tensorrt-llm": "tp_size",
    "lmdeploy": "tp",
    "tgi": "num_shard",
    "mlc-llm": "tensor_parallel_shards",
}
_PP = {"vllm": "pipeline_parallel_size", "sglang": "pp_size", "tensorrt-llm": "pp_size"}
_DP = {"vllm": "data_parallel_size", "sglang": "dp_size", "lmdeploy": "dp"}
_ALIASES = {"context": "context_tokens", "cards": "count", "gpus": "count", "kv": "kv_cache_dtype"}


def changed(spec: Workload, changes: list[str]) -> Workload:
    """The workload with every ``name=value`` applied.

    Raises:
        UsageError: a change without ``=``, with a name that means nothing here, or to a number
            that makes no sense.
    """
    for change in changes:
        name, equals, text = change.partition("=")
        name = _ALIASES.get(name.strip().replace("-", "_"), name.strip().replace("-", "_"))
        if not equals or not name:
            raise UsageError(
                f"--what-if {change} is not name=value",
                where="--what-if",
                remedy="for instance --what-if gpu=l4 --what-if tp=4",
            )
        spec = _apply(spec, name, _value(text.strip()))
    if not changes:
        return spec
    return require_sense(spec, where="--what-if", remedy="give a value that the file could hold")


def _apply(spec: Workload, name: str, value: Any) -> Workload:
    if name in _HARDWARE:
        hardware = msgspec.structs.replace(spec.hardware, **{name: value})
        if name == "gpu":
            hardware = msgspec.structs.replace(hardware, cpu=None)
        return msgspec.structs.replace(spec, hardware=_checked(hardware))
    if name in _REQUIRES:
        return msgspec.structs.replace(
            spec, requires=_checked(msgspec.structs.replace(spec.requires, **{name: value}))
        )
    if name in {"model", "precision"}:
        field = "path" if name == "model" else name
        model = msgspec.structs.replace(spec.model, **{field: str(value)})
        return msgspec.structs.replace(spec, model=model)
    if name == "version" or spec.candidates is None:
        if spec.candidates is None:
            raise UsageError(
                f"--what-if {name}= needs a candidate to change",
                where="--what-if",
                remedy="name one with --engine, or in the file",
            )
        every = [msgspec.structs.replace(c, version=str(value)) for c in spec.candidates]
        return msgspec.structs.replace(spec, candidates=every)
    return msgspec.structs.replace(
        spec, candidates=[_with_flag(c, name, value) for c in spec.candidates]
    )


def _with_flag(candidate: CandidateSpec, name: str, value: Any) -> CandidateSpec:
    tables = {"tp": _TP, "pp": _PP, "dp": _DP}
    flag = tables[name].get(candidate.engine, name) if name in tables else name
    return msgspec.structs.replace(candidate, args={**candidate.args, flag: value})


def _checked(part: Any) -> Any:
    """The changed part, decoded strictly so that a wrong type is said and not carried on."""
    try:
        return msgspec.convert(msgspec.to_builtins(part), type(part))
    except msgspec.ValidationError as error:
        raise UsageError(
            f"--what-if: {error}",
            where="--what-if",
            remedy="see the workload file's schema for the values",
        ) from error


def _value(text: str) -> Any:
    """A number, true, false, null or a word."""
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text
