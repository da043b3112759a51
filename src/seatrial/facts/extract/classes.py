"""Constants on classes, followed through their bases and imports inside one artefact.

A quantisation class says ``get_min_capability`` once, often on a base class in another file. The
walk is by name and import statement, bounded in depth; what it cannot follow is unresolved.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from typing import Any

import msgspec

from seatrial.facts.extract.findings import Source
from seatrial.facts.extract.pyast import Module, Unresolved, functions, text_of

_DEPTH_MAX = 8


class Place(msgspec.Struct, frozen=True):
    """A class: the module it stands in, and its node."""

    module: Module
    node: ast.ClassDef


class Returned(msgspec.Struct, frozen=True):
    """What a method returns: constants (condition, value, line), or text if it is computed."""

    path: str
    line: int
    values: list[tuple[str | None, Any, int]]
    text: str


def module_path(source: Source, module: str, importer: str) -> str | None:
    """The member that an import names; ``module`` may be relative (".awq")."""
    dots = len(module) - len(module.lstrip("."))
    dotted = module.lstrip(".").replace(".", "/")
    if dots:
        base = importer
        for _ in range(dots):
            base = posixpath.dirname(base)
        dotted = posixpath.join(base, dotted) if dotted else base
    for candidate in (f"{dotted}.py", f"{dotted}/__init__.py"):
        if source.has(candidate):
            return candidate
    return None


def find_class(source: Source, module: Module, name: str, depth: int = 0) -> Place | None:
    """A class by the name it has in ``module``, through re-exports."""
    if depth > _DEPTH_MAX:
        return None
    if name in module.classes:
        return Place(module, module.classes[name])
    if name in module.imports:
        where, original = module.imports[name]
        path = module_path(source, where, module.path)
        target = source.module(path) if path else None
        if target is not None:
            return find_class(source, target, original, depth + 1)
    alias = module.assigned.get(name)
    if isinstance(alias, ast.Name) and alias.id != name:
        return find_class(source, module, alias.id, depth + 1)
    return None


def lineage(source: Source, place: Place, depth: int = 0) -> Iterator[Place]:
    """The class and its bases as far as they can be followed, nearest first."""
    yield place
    if depth > _DEPTH_MAX:
        return
    for base in place.node.bases:
        inner = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(inner, ast.Name):
            found = find_class(source, place.module, inner.id)
            if found is not None:
                yield from lineage(source, found, depth + 1)


def base_names(source: Source, place: Place) -> set[str]:
    """Names of all bases, also of those that cannot be followed."""
    names: set[str] = set()
    for ancestor in lineage(source, place):
        for base in ancestor.node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            names.add(text_of(inner).rpartition(".")[2])
    return names


def method_returns(source: Source, place: Place, name: str) -> Returned | None:
    """What a method returns, from the nearest class that defines it; None if none does."""
    for ancestor in lineage(source, place):
        function = functions(ancestor.node).get(name)
        if function is not None:
            found = _returned(ancestor.module, function)
            if found is not None:
                return found
    return None


def _returned(module: Module, function: ast.FunctionDef) -> Returned | None:
    returns = list(_returns(function.body, None))
    if not returns:
        return None
    values: list[tuple[str | None, Any, int]] = []
    text = ""
    for condition, node in returns:
        for inner_condition, expression in _branches(node):
            try:
                value = module.literal(expression)
            except Unresolved as why:
                text = text or str(why)
                continue
            joined = " and ".join(c for c in (condition, inner_condition) if c) or None
            values.append((joined, value, expression.lineno))
    return Returned(module.path, returns[0][1].lineno, values, text)


def _returns(body: list[ast.stmt], condition: str | None) -> Iterator[tuple[str | None, ast.expr]]:
    """Return statements of a function with the tests of the ``if`` statements above them."""
    negated: list[str] = []
    for node in body:
        here = " and ".join(c for c in (condition, *negated) if c) or None
        if isinstance(node, ast.Return) and node.value is not None:
            yield here, node.value
        elif isinstance(node, ast.If):
            test = text_of(node.test)
            yield from _returns(node.body, " and ".join(c for c in (here, test) if c))
            if node.orelse:
                yield from _returns(
                    node.orelse, " and ".join(c for c in (here, f"not ({test})") if c)
                )
            elif any(isinstance(n, ast.Return) for n in node.body):
                negated.append(f"not ({test})")
        elif isinstance(node, (ast.With, ast.Try)):
            yield from _returns(node.body, here)


def _branches(node: ast.expr) -> Iterator[tuple[str | None, ast.expr]]:
    if isinstance(node, ast.IfExp):
        test = text_of(node.test)
        for inner, expression in _branches(node.body):
            yield " and ".join(c for c in (test, inner) if c), expression
        for inner, expression in _branches(node.orelse):
            yield " and ".join(c for c in (f"not ({test})", inner) if c), expression
    else:
        yield None, node
