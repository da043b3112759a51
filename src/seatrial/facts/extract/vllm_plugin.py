"""vLLM's plugins that bring a quantisation method back: GGUF, bitsandbytes.

A plugin registers its method with ``@register_quantization_config("gguf")``; the class states
capability and dtypes as those in vLLM do.
"""

from __future__ import annotations

import ast

from seatrial.facts.extract.classes import Place, find_class
from seatrial.facts.extract.findings import Findings, Floor
from seatrial.facts.extract.metadata import add_metadata
from seatrial.facts.extract.pyast import text_of
from seatrial.facts.extract.quantmethods import add_class

NAME = "vllm plugin"
VERSION = 1


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Methods that it registers, and what it requires."""
    paths = [n for n in findings.source.glob("*.py") if "/tests/" not in n]
    findings.source.fetch(paths)
    findings.step("quantization", lambda: methods(findings, paths), floor=Floor(1))
    findings.step("requires", lambda: add_metadata(findings))


def methods(findings: Findings, paths: list[str]) -> None:
    """Classes registered by decorator or by ``register_quantization_config("x")(Class)``."""
    for path in paths:
        module = findings.source.module(path)
        for node in ast.walk(module.tree) if module else ():
            if module is not None and isinstance(node, ast.ClassDef):
                for decorator in node.decorator_list:
                    if name := _registered(decorator):
                        _add(findings, path, decorator.lineno, name, Place(module, node))
            elif module is not None and isinstance(node, ast.Call) and node.args:
                name = _registered(node.func)
                cls = node.args[0]
                if name and isinstance(cls, ast.Name):
                    place = find_class(findings.source, module, cls.id)
                    _add(findings, path, node.lineno, name, place)


def _registered(node: ast.expr) -> str | None:
    """The method's name in ``register_quantization_config("name")``."""
    if (
        isinstance(node, ast.Call)
        and text_of(node.func).rpartition(".")[2] == "register_quantization_config"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        return str(node.args[0].value)
    return None


def _add(findings: Findings, path: str, line: int, name: str, place: Place | None) -> None:
    cls = place.node.name if place else None
    findings.add("quantization", name, "native", path, line, detail={"class": cls})
    if place is not None:
        add_class(findings, name, place)
