"""MLC-LLM: Python tables out of its source tree (it is not on the package index).

Model types and quantisation schemes are keys of two dicts; an artefact is compiled per model,
scheme and GPU, so there is no list of CUDA targets.
"""

from __future__ import annotations

import ast

from seatrial.facts.extract.findings import Findings, Floor, Missing
from seatrial.facts.extract.flags import add_argparse
from seatrial.facts.extract.pyast import statements, text_of
from seatrial.facts.extract.routes import add_routes

NAME = "mlc-llm"
VERSION = 2

_MODELS = "python/mlc_llm/model/model.py"
_SCHEMES = "python/mlc_llm/quantization/quantization.py"
_CONFIG = "python/mlc_llm/serve/config.py"
_CLI = "python/mlc_llm/cli/serve.py"


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Everything; ``deep`` off: model types and schemes."""
    source = findings.source
    entry = source.glob("python/mlc_llm/serve/entrypoints/*.py")
    source.fetch([_MODELS, _SCHEMES, _CONFIG, _CLI, *entry])
    findings.step(
        "architecture",
        lambda: _keys(findings, _MODELS, "MODELS", "architecture"),
        floor=Floor(20, ("llama",)),
        looked_at=[_MODELS],
    )
    findings.step(
        "quantization",
        lambda: _keys(findings, _SCHEMES, "QUANTIZATION", "quantization"),
        floor=Floor(8, ("q4f16_1",)),
        looked_at=[_SCHEMES],
    )
    if deep:
        findings.step("route", lambda: add_routes(findings, entry), floor=Floor(5))
        findings.step("flag", lambda: add_argparse(findings, _CLI), floor=Floor(8, ("--host",)))
        findings.step(
            "speculative_method",
            lambda: _modes(findings, "speculative_mode", "speculative_method"),
            floor=Floor(2, ("eagle",)),
            looked_at=[_CONFIG],
        )
        findings.step(
            "memory_management",
            lambda: _modes(findings, "prefix_cache_mode", "memory_management"),
            floor=Floor(1, ("radix",)),
            looked_at=[_CONFIG],
        )


def _keys(findings: Findings, path: str, name: str, predicate: str) -> None:
    module = findings.need(path)
    node = module.assigned.get(name)
    if not isinstance(node, ast.Dict):
        raise Missing(f"no dict {name} in {path}")
    for item in module.entries(node):
        detail = {"is": "model type"} if predicate == "architecture" else {}
        findings.add(predicate, item.key, "native", path, item.line, detail=detail)


def _modes(findings: Findings, field: str, predicate: str) -> None:
    """Choices of a ``Literal`` field of the engine's configuration."""
    module = findings.need(_CONFIG)
    for place in module.classes.values():
        for node in statements(place.body):
            if isinstance(node, ast.AnnAssign) and text_of(node.target) == field:
                for text, line in module.choices(node.annotation):
                    if text != "disable":
                        findings.add(predicate, text, "native", _CONFIG, line)
                return
    raise Missing(f"{field} in {_CONFIG}")
