"""HTTP routes in Python servers: decorators with a literal path, ``add_api_route`` calls.

The gate of a route is the test under which it is defined or its router attached; it is kept as
condition. A decorator counts where the object's name speaks of a router or an app.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from seatrial.facts.extract.findings import Findings
from seatrial.facts.extract.pyast import Module, text_of

_VERBS = {
    "get",
    "post",
    "put",
    "delete",
    "patch",
    "head",
    "options",
    "websocket",
    "route",
    "api_route",
}
_OWNER = re.compile(r"(^|\.|_)(app|router|\w*router|\w*app)$", re.IGNORECASE)


def add_routes(
    findings: Findings, paths: list[str], *, gates: dict[str, str] | None = None
) -> None:
    """Facts ``route``: path -> methods. ``gates``: member -> condition that attaches it."""
    findings.source.fetch(paths)
    for path in paths:
        module = findings.source.module(path)
        if module is None:
            continue
        for route, method, line, test in routes_of(module):
            outer = (gates or {}).get(path)
            condition = " and ".join(c for c in (outer, test) if c) or None
            findings.add(
                "route",
                route,
                [method],
                path,
                line,
                state="conditional" if condition else "extracted",
                condition=condition,
            )


def routes_of(module: Module) -> Iterator[tuple[str, str, int, str | None]]:
    """(path, METHOD, line, gate) of every route in one module."""
    for node, test in _walk(module.tree.body, None):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call):
                    yield from _route(module, decorator, test)
        for call in _calls(node):
            name = text_of(call.func)
            if name.endswith((".add_api_route", ".add_route")):
                yield from _added(module, call, test)
            elif name.rpartition(".")[2] in ("Mount", "mount") and (path := _path(module, call)):
                yield path, "GET", call.lineno, test


def _walk(body: list[ast.stmt], test: str | None) -> Iterator[tuple[ast.stmt, str | None]]:
    """Every statement at any depth with the ``if`` tests above it, inside functions too."""
    negated: list[str] = []
    for node in body:
        here = " and ".join(c for c in (test, *negated) if c) or None
        yield node, here
        if isinstance(node, ast.If):
            inner = text_of(node.test)
            yield from _walk(node.body, " and ".join(c for c in (here, inner) if c))
            other = _negated(node.test)
            yield from _walk(node.orelse, " and ".join(c for c in (here, other) if c))
            if node.body and isinstance(node.body[-1], ast.Return) and not node.orelse:
                negated.append(other)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With)):
            yield from _walk(node.body, here)
        elif isinstance(node, ast.Try):
            yield from _walk([*node.body, *node.orelse, *node.finalbody], here)


def _negated(test: ast.expr) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return text_of(test.operand)
    return f"not ({text_of(test)})"


def _calls(node: ast.stmt) -> Iterator[ast.Call]:
    """Calls that are statements by themselves, or the whole of what is assigned."""
    if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Call):  # router.get("/x")(handler)
            yield call.func
        yield call


def _route(
    module: Module, call: ast.Call, test: str | None
) -> Iterator[tuple[str, str, int, str | None]]:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _VERBS:
        return
    owner = text_of(call.func.value)
    path = _path(module, call)
    if path is None or not _OWNER.search(owner):
        return
    method = call.func.attr.upper()
    if method.endswith("ROUTE"):
        for verb in _methods(call) or ["GET"]:
            yield path, verb, call.lineno, test
    else:
        yield path, method, call.lineno, test


def _added(
    module: Module, call: ast.Call, test: str | None
) -> Iterator[tuple[str, str, int, str | None]]:
    path = _path(module, call)
    if path is not None:
        for verb in _methods(call) or ["GET"]:
            yield path, verb, call.lineno, test


def _path(module: Module, call: ast.Call) -> str | None:
    for argument in [*call.args[:1], *(k.value for k in call.keywords if k.arg == "path")]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return argument.value if argument.value.startswith("/") else None
        if isinstance(argument, ast.Name):
            value = module.assigned.get(argument.id)
            if isinstance(value, ast.Constant) and str(value.value).startswith("/"):
                return str(value.value)
    return None


def _methods(call: ast.Call) -> list[str]:
    for keyword in call.keywords:
        if keyword.arg == "methods" and isinstance(keyword.value, (ast.List, ast.Tuple)):
            return [str(e.value) for e in keyword.value.elts if isinstance(e, ast.Constant)]
    return []
