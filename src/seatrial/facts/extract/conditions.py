"""Platform conditions in engines' source: ``if is_npu():``, ``_is_hip and ...``.

Engines decide at run time which platform they are on; for a fact the question is whether a
branch is the CUDA one. A test is evaluated in three values (true, false, not known) under "this
is CUDA"; a branch that is false there belongs to the platforms it names.
"""

from __future__ import annotations

import ast
import re

from seatrial.facts.extract.pyast import Module

PLATFORMS = ("rocm", "npu", "cpu", "xpu", "mps", "musa", "hpu", "tpu")
"""Layers that are platforms other than CUDA: a fact on one does not speak of CUDA."""

_NAME = re.compile(r"^_?is_(cuda|hip|rocm|npu|cpu|xpu|mps|musa|hpu|tpu|gfx\w+)(_supported)?$")
_ALIAS = {"hip": "rocm"}
_DEPTH_MAX = 12


def on_cuda(
    module: Module, test: ast.expr, known: dict[str, bool] | None = None, depth: int = 0
) -> bool | None:
    """Whether a test holds on CUDA; None if that cannot be said. ``known``: text -> value."""
    if depth > _DEPTH_MAX:
        return None
    text = ast.unparse(test)
    if known and text in known:
        return known[text]
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = on_cuda(module, test.operand, known, depth + 1)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return _joined(test, [on_cuda(module, v, known, depth + 1) for v in test.values])
    named = platform_of(test)
    if named is not None:
        return named == "cuda"
    if isinstance(test, ast.Name) and test.id in module.assigned:
        return on_cuda(module, module.assigned[test.id], known, depth + 1)
    return None


def remaining(module: Module, test: ast.expr, known: dict[str, bool] | None = None) -> str:
    """The parts of a test that are not settled by being on CUDA, joined by ``and``."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        parts = [remaining(module, v, known) for v in test.values]
        return " and ".join(p for p in parts if p)
    return "" if on_cuda(module, test, known) else " ".join(ast.unparse(test).split())[:200]


def _joined(test: ast.BoolOp, values: list[bool | None]) -> bool | None:
    stop = isinstance(test.op, ast.Or)
    if stop in values:
        return stop
    return None if None in values else not stop


def platform_of(test: ast.expr) -> str | None:
    """The platform that ``is_npu()``, ``_is_hip``, ``current_platform.is_rocm()`` asks for."""
    inner = test.func if isinstance(test, ast.Call) else test
    name = inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
    found = _NAME.match(name)
    if found is None:
        return None
    return "rocm" if found[1].startswith("gfx") else _ALIAS.get(found[1], found[1])


def platforms_in(test: ast.expr) -> list[str]:
    """Platforms other than CUDA that a test names, in order of mention."""
    found = []
    for node in ast.walk(test):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            name = platform_of(node)
            if name in PLATFORMS and name not in found:
                found.append(name)
    return found
