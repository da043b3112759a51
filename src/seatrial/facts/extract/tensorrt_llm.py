"""TensorRT-LLM: metadata from the stub on the index, code from a source tree.

The code wheel is on the vendor's own index; the public index holds a stub of a few kilobytes,
whose metadata already shows the removal of a backend (``tensorrt`` among the requirements or not).
A tree gives the rest: architectures are a dict since August 2026, decorators before.
"""

from __future__ import annotations

import ast

from seatrial.facts.extract.findings import Findings, Floor, Missing
from seatrial.facts.extract.metadata import add_metadata
from seatrial.facts.extract.pyast import statements, text_of
from seatrial.facts.extract.routes import add_routes
from seatrial.facts.extract.textscan import Text

NAME = "tensorrt-llm"
VERSION = 1

_INDEX = "tensorrt_llm/_torch/models/_arch_index.py"
_MODE = "tensorrt_llm/quantization/mode.py"
_ARGS = "tensorrt_llm/llmapi/llm_args.py"
_SERVER = "tensorrt_llm/serve/openai_server.py"
_METRICS = "tensorrt_llm/metrics/collector.py"


def extract(findings: Findings, *, deep: bool = True) -> None:
    """What the artefact holds: requirements of a stub, tables of a tree."""
    source = findings.source
    stub = [f for f in source.glob("PKG-INFO", "*.dist-info/METADATA") if f.count("/") <= 1]
    if stub:
        findings.step("requires", lambda: add_metadata(findings), floor=Floor(5))
    models = source.glob("tensorrt_llm/_torch/models/modeling_*.py")
    if not source.has(_INDEX) and not models:
        findings.notes.append("a stub: architectures and methods are in no file of it")
        return
    source.fetch([_INDEX, _MODE, _ARGS, _SERVER, _METRICS, *models])
    findings.step(
        "architecture",
        lambda: architectures(findings, models),
        floor=Floor(30, ("LlamaForCausalLM",)),
        looked_at=[_INDEX],
    )
    if source.has(_MODE):
        findings.step(
            "quantization",
            lambda: algorithms(findings),
            floor=Floor(8, ("FP8", "NVFP4")),
            looked_at=[_MODE],
        )
    if deep:
        deeper(findings)


def deeper(findings: Findings) -> None:
    """Routes and metrics, where the tree has them."""
    if findings.source.has(_SERVER):
        findings.step(
            "route", lambda: add_routes(findings, [_SERVER]), floor=Floor(6), looked_at=[_SERVER]
        )
    if findings.source.has(_METRICS):
        findings.step("metric", lambda: metrics(findings), floor=Floor(3), looked_at=[_METRICS])


def architectures(findings: Findings, models: list[str]) -> None:
    """``MODEL_ARCH_TO_MODULE``, or ``@register_auto_model("Arch")`` in the model files."""
    if findings.source.has(_INDEX):
        module = findings.need(_INDEX)
        node = module.assigned.get("MODEL_ARCH_TO_MODULE")
        if node is None:
            raise Missing(f"MODEL_ARCH_TO_MODULE in {_INDEX}")
        for item in module.entries(node):
            findings.add(
                "architecture",
                item.key,
                "native",
                _INDEX,
                item.line,
                detail={"module": str(item.value)},
            )
        return
    for path in models:
        for hit in Text(path, findings.source.text(path)).find(r'@register_auto_model\(\s*"(\w+)"'):
            findings.add("architecture", hit[1], "native", path, hit.line)


def algorithms(findings: Findings) -> None:
    """Members of ``QuantAlgo``, and those that are dtypes of the KV cache."""
    module = findings.need(_MODE)
    place = module.classes.get("QuantAlgo")
    if place is None:
        raise Missing(f"QuantAlgo in {_MODE}")
    for node in statements(place.body):
        if isinstance(node, ast.Assign):
            findings.add("quantization", text_of(node.targets[0]), "native", _MODE, node.lineno)
    listed = module.assigned.get("KV_CACHE_QUANT_ALGO_LIST")
    for element in listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else ():
        name = text_of(element).rpartition(".")[2]
        findings.add("kv_cache_dtype", name, "native", _MODE, element.lineno)


def metrics(findings: Findings) -> None:
    """Names in the collector; they carry the prefix trtllm_ or get it when they are made."""
    text = Text(_METRICS, findings.source.text(_METRICS))
    for hit in text.find(r'"(trtllm_[a-z0-9_]+)"'):
        findings.add("metric", hit[1], "unknown", _METRICS, hit.line)
