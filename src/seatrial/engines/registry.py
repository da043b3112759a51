"""The adapters by name."""

from __future__ import annotations

from seatrial.core.errors import UsageError
from seatrial.engines.adapter import Adapter
from seatrial.engines.endpoint import Endpoint
from seatrial.engines.llamacpp import LlamaCpp
from seatrial.engines.lmdeploy import LmDeploy
from seatrial.engines.mlc_llm import MlcLlm
from seatrial.engines.ollama import Ollama
from seatrial.engines.sglang import Sglang
from seatrial.engines.tensorrt_llm import TensorRtLlm
from seatrial.engines.tgi import Tgi
from seatrial.engines.transformers_serve import TransformersServe
from seatrial.engines.vllm import Vllm

ADAPTERS: dict[str, Adapter] = {
    a.name: a
    for a in (
        LlamaCpp(),
        Vllm(),
        Sglang(),
        TensorRtLlm(),
        LmDeploy(),
        Tgi(),
        Ollama(),
        MlcLlm(),
        TransformersServe(),
        Endpoint(),
    )
}


def adapter(name: str) -> Adapter:
    """The adapter of an engine.

    Raises:
        UsageError: no such engine; the message lists those there are.
    """
    found = ADAPTERS.get(name)
    if found is None:
        raise UsageError(
            f"there is no adapter for the engine {name!r}",
            where=f"engine: {name}",
            unchanged="nothing was started",
            remedy="known engines: " + ", ".join(sorted(ADAPTERS)),
        )
    return found
