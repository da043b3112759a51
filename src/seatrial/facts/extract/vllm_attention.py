"""vLLM's attention backends: the enum, and what each backend's class says that it takes.

A backend states its limits in class attributes and small methods: dtypes, KV-cache dtypes, head
sizes, block sizes, and a test on the compute capability. Whatever is a literal goes into the
fact's detail; a test is kept as text beside the least capability that it lets pass. Before 0.11
the enum held names alone.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from seatrial.facts.extract.classes import Place, find_class, lineage, method_returns, module_path
from seatrial.facts.extract.findings import Findings, Missing, Source
from seatrial.facts.extract.pyast import (
    Dotted,
    Unresolved,
    bound_name,
    functions,
    returned,
    statements,
    text_of,
)
from seatrial.facts.extract.vllm_places import Places

_ATTRIBUTES = {
    "supported_dtypes": "dtypes",
    "supported_kv_cache_dtypes": "kv_cache_dtypes",
}
_METHODS = {
    "get_supported_head_sizes": "head_sizes",
    "get_supported_kernel_block_sizes": "block_sizes",
    "get_supported_kernel_block_size": "block_sizes",
}


def attention_backends(findings: Findings, places: Places) -> None:
    """Members of the backend enum, each with what its class says."""
    module = findings.need(places.attention)
    for name in ("AttentionBackendEnum", "_Backend"):
        place = module.classes.get(name)
        if place is None:
            continue
        members = []
        for node in statements(place.body):
            target = bound_name(node)
            if target is None or target.startswith("_") or not isinstance(node, ast.Assign):
                continue
            members.append((target, _class_path(module.literal, node.value), node.lineno))
        _fetch(findings.source, [path for _, path, _ in members if path])
        for target, path, line in members:
            detail = {"class": path.rpartition(".")[2] or None, **_limits(findings.source, path)}
            findings.add("attention_backend", target, "native", module.path, line, detail=detail)
        return
    raise Missing(f"no backend enum in {module.path}")


def _class_path(literal: Any, node: ast.expr) -> str:
    """``vllm.v1.attention.backends.flash_attn.FlashAttentionBackend``, "" if there is none."""
    try:
        value = literal(node)
    except Unresolved:
        return ""
    return value if isinstance(value, str) and not isinstance(value, Dotted) else ""


def _fetch(source: Source, dotted: list[str]) -> None:
    paths = [module_path(source, d.rpartition(".")[0], "") for d in dotted]
    source.fetch([p for p in paths if p])


def _limits(source: Source, dotted: str) -> dict[str, Any]:
    """What the class says: literals, and its test on the capability."""
    where, _, cls = dotted.rpartition(".")
    path = module_path(source, where, "") if where else None
    module = source.module(path) if path else None
    place = find_class(source, module, cls) if module else None
    if place is None:
        return {}
    found: dict[str, Any] = {}
    for attribute, key in _ATTRIBUTES.items():
        if (listed := _attribute(source, place, attribute)) is not None:
            found[key] = listed
    for method, key in _METHODS.items():
        answer = method_returns(source, place, method)
        if answer and len(answer.values) == 1 and not answer.text:
            value = answer.values[0][1]
            if isinstance(value, list) and value and all(isinstance(v, int) for v in value):
                found[key] = value
    return {**found, **_capability(source, place)}


def _attribute(source: Source, place: Place, name: str) -> list[str] | None:
    """A list that is a class attribute, from the nearest class that binds it."""
    for ancestor in lineage(source, place):
        for node in statements(ancestor.node.body):
            value = getattr(node, "value", None)
            if bound_name(node) == name and isinstance(value, ast.expr):
                try:
                    listed = ancestor.module.literal(value)
                except Unresolved:
                    return None
                if not isinstance(listed, list):
                    return None
                return [str(v).removeprefix("torch.").replace("half", "float16") for v in listed]
    return None


def _capability(source: Source, place: Place) -> dict[str, Any]:
    """The test of ``supports_compute_capability`` and the least capability that passes it."""
    for ancestor in lineage(source, place):
        function = functions(ancestor.node).get("supports_compute_capability")
        if function is not None:
            test = returned(function)
            if test is None:
                return {}
            least = least_capability(text_of(test))
            return {"capability": text_of(test)} | ({"min_capability": least} if least else {})
    return {}


def least_capability(test: str) -> int | None:
    """The least capability that a test lets pass, None where the text does not say.

    Knows ``capability >= DeviceCapability(8, 0)``, ``capability.major == 10``,
    ``capability.major in [9, 10]``, ``capability.major >= 8``.
    """
    if " or " in test or "not " in test:
        return None
    if found := re.search(r"capability >= DeviceCapability\((\d+), (\d+)\)", test):
        return int(found[1]) * 10 + int(found[2])
    if found := re.search(r"capability\.major (?:==|>=) (\d+)", test):
        return int(found[1]) * 10
    if found := re.search(r"capability\.major in [\[(]([\d, ]+)[\])]", test):
        return min(int(n) for n in found[1].split(",") if n.strip()) * 10
    return None
