"""Quantisation methods in the shape that vLLM, its forks and SGLang share.

A dict from method name to config class; on the class ``get_min_capability`` and
``get_supported_act_dtypes``, mostly one constant, at times one per platform. What holds on CUDA
is the fact; what holds elsewhere is a fact of that platform's layer. A number that depends on
something else is conditional, one that is computed is unresolved.
"""

from __future__ import annotations

import ast
from typing import Any

from seatrial.facts.extract.classes import Place, Returned, find_class, method_returns
from seatrial.facts.extract.conditions import on_cuda, platforms_in, remaining
from seatrial.facts.extract.findings import Findings
from seatrial.facts.extract.pyast import Dotted, Item, Module
from seatrial.facts.record import State

_DTYPES = {
    "half": "float16",
    "float": "float32",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
}


def dtype_name(value: Any) -> str:
    """``torch.half`` -> float16; what is not known keeps its own name."""
    short = str(value).rpartition(".")[2]
    return _DTYPES.get(short, short)


def add_method(
    findings: Findings,
    module: Module,
    item: Item,
    *,
    layer: str | None = None,
    condition: str | None = None,
    detail: dict[str, Any] | None = None,
) -> None:
    """One entry of the table: the method itself, its capability and dtypes."""
    name = str(item.value) if isinstance(item.value, Dotted) else ""
    findings.add(
        "quantization",
        item.key,
        "native",
        module.path,
        item.line,
        state="conditional" if condition else "extracted",
        condition=condition,
        layer=layer,
        detail={"class": name, **(detail or {})},
    )
    place = find_class(findings.source, module, name) if name else None
    if place is None:
        findings.add(
            "min_capability",
            item.key,
            None,
            module.path,
            item.line,
            state="unresolved",
            layer=layer,
            condition="the class is chosen when the engine runs",
            detail={"text": str(item.value)},
        )
        return
    add_class(findings, item.key, place, layer=layer, known={"self.use_mxfp8": "mxfp8" in item.key})


def add_class(
    findings: Findings,
    subject: str,
    place: Place,
    *,
    layer: str | None = None,
    known: dict[str, bool] | None = None,
) -> None:
    """Capability and dtypes of one config class; ``known`` are tests whose answer is known."""
    source = findings.source
    capability = method_returns(source, place, "get_min_capability")
    if capability is not None:
        for when, value, where, line in _branches(findings, capability, layer, known):
            whole = isinstance(value, int) and not isinstance(value, bool)
            state: State = "unresolved" if not whole else "conditional" if when else "extracted"
            findings.add(
                "min_capability",
                subject,
                value if whole else None,
                capability.path,
                line,
                state=state,
                condition=when,
                layer=where,
            )
    dtypes = method_returns(source, place, "get_supported_act_dtypes")
    if dtypes is not None:
        for when, value, where, line in _branches(findings, dtypes, layer, known):
            if isinstance(value, list):
                findings.add(
                    "act_dtypes",
                    subject,
                    [dtype_name(v) for v in value],
                    dtypes.path,
                    line,
                    state="conditional" if when else "extracted",
                    condition=when,
                    layer=where,
                )


def _branches(
    findings: Findings, found: Returned, layer: str | None, known: dict[str, bool] | None
) -> list[tuple[str | None, Any, str | None, int]]:
    """(condition, value, layer, line) of each branch that can be taken, CUDA's first and bare."""
    module = findings.source.module(found.path)
    listed: list[tuple[str | None, Any, str | None, int]] = []
    for when, value, line in found.values:
        if when is None or module is None or layer is not None:
            listed.append((when, value, layer, line))
            continue
        test = ast.parse(when, mode="eval").body
        holds = on_cuda(module, test, known)
        if holds:
            listed.insert(0, (None, value, layer, line))
        elif holds is None:
            listed.append((remaining(module, test, known), value, layer, line))
        elif names := _asserted(test):
            listed.append((f"on {names[0]}", value, names[0], line))
    if found.text:
        listed.append((f"computed: {found.text}", None, layer, found.line))
    return listed


def _asserted(test: ast.expr) -> list[str]:
    """Platforms that a test requires, those under a ``not`` left out."""
    if isinstance(test, ast.BoolOp):
        return [name for value in test.values for name in _asserted(value)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return []
    return platforms_in(test)
