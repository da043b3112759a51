"""vLLM's quantisation methods: registry, gates, schemes of compressed-tensors, platforms' lists."""

from __future__ import annotations

import ast

from seatrial.facts.extract.classes import find_class
from seatrial.facts.extract.findings import Findings, Missing
from seatrial.facts.extract.pyast import Item, Module, bound_name, statements
from seatrial.facts.extract.quantmethods import add_class, add_method
from seatrial.facts.extract.vllm_places import Places


def quantization(findings: Findings, places: Places) -> None:
    """Registered methods with capability and dtypes, and names that are only choices."""
    module = findings.need(places.quantization)
    package = module.path.rpartition("/")[0]
    source = findings.source
    source.fetch([n for n in source.names if n.startswith(package + "/") and n.endswith(".py")])
    registered: set[str] = set()
    deprecated = _strings(module, "DEPRECATED_QUANTIZATION_METHODS")
    for item in method_table(module):
        registered.add(item.key)
        add_method(findings, module, item, detail={"deprecated": item.key in deprecated or None})
    if not registered:
        raise Missing("no dict from method to class in " + module.path)
    for name, line in _method_choices(module):
        if name not in registered:
            findings.add(
                "quantization",
                name,
                "native",
                module.path,
                line,
                kind="cli",
                condition="a choice without a class of its own: a shorthand for quantising "
                "while loading",
            )
    _schemes(findings, package)
    _platform_lists(findings, places)


def method_table(module: Module) -> list[Item]:
    """The dict inside ``get_quantization_config``, whatever it is called."""
    for function in ast.walk(module.tree):
        if isinstance(function, ast.FunctionDef) and function.name == "get_quantization_config":
            for node in statements(function.body):
                value = getattr(node, "value", None)
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.Dict):
                    return module.entries(value)
    table = module.assigned.get("QUANTIZATION_METHODS")
    return module.entries(table) if isinstance(table, ast.Dict) else []


def _method_choices(module: Module) -> list[tuple[str, int]]:
    node = module.assigned.get("QuantizationMethods")
    if node is not None:
        return module.choices(node)
    listed = module.assigned.get("QUANTIZATION_METHODS")
    if isinstance(listed, ast.List):
        return [(str(module.literal(n)), n.lineno) for n in listed.elts]
    return []


def _strings(module: Module, name: str) -> set[str]:
    node = module.assigned.get(name)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return {str(e.value) for e in node.elts if isinstance(e, ast.Constant)}
    return set()


def _schemes(findings: Findings, package: str) -> None:
    """Each compressed-tensors scheme has a capability of its own."""
    for path in findings.source.glob(f"{package}/compressed_tensors/schemes/*.py"):
        module = findings.source.module(path)
        for name in module.classes if module else ():
            place = find_class(findings.source, module, name) if module else None
            if place is not None and name != "CompressedTensorsScheme":
                add_class(findings, f"compressed-tensors:{name}", place)


def _platform_lists(findings: Findings, places: Places) -> None:
    """Allow-lists of platforms other than CUDA: class attribute ``supported_quantization``."""
    source = findings.source
    paths = [f"{places.package}/platforms/{p}.py" for p in ("rocm", "xpu", "cpu", "tpu", "hpu")]
    source.fetch(paths)
    for path in paths:
        module = source.module(path)
        for place in module.classes.values() if module else ():
            for node in statements(place.body):
                target = bound_name(node)
                value = getattr(node, "value", None)
                if target == "supported_quantization" and isinstance(value, ast.List):
                    _allow(findings, path, value)


def _allow(findings: Findings, path: str, node: ast.List) -> None:
    platform = path.rpartition("/")[2].removesuffix(".py")
    for element in node.elts:
        if isinstance(element, ast.Constant):
            findings.add(
                "quantization",
                str(element.value),
                "allowed",
                path,
                element.lineno,
                layer=platform,
                condition=f"on {platform}: only listed methods are accepted",
            )
