"""Command-line flags of Python engines.

Three shapes: ``add_argument("--x", default=..., choices=...)``; ``add_argument("--x",
**kwargs["field"])`` where ``kwargs = get_kwargs(Config)`` (vLLM), resolved to the dataclass field;
and fields of a class that is a whole command line (vLLM's server flags, SGLang). A default that
names a field (``EngineArgs.seed``) is that field's; one that names a parameter of the function
that adds the flag is the parameter's default, unless a caller gives another. One that is computed
is kept as text and the fact is ``unresolved``: the flag is there, its default is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from seatrial.facts.extract.classes import find_class, lineage
from seatrial.facts.extract.findings import Findings
from seatrial.facts.extract.pyast import (
    Dotted,
    Module,
    Unresolved,
    bound_name,
    statements,
    text_of,
)
from seatrial.facts.record import State

_NO_DEFAULT = object()


class Fields:
    """Default and choices of each field of the config classes that flags refer to."""

    def __init__(self, findings: Findings, module: Module) -> None:
        self._findings = findings
        self._module = module
        self._cache: dict[str, dict[str, tuple[Module, ast.AnnAssign]]] = {}

    def of(self, cls: str) -> dict[str, tuple[Module, ast.AnnAssign]]:
        """Fields of a class and its bases, by name; nearest definition wins."""
        if cls not in self._cache:
            found: dict[str, tuple[Module, ast.AnnAssign]] = {}
            place = find_class(self._findings.source, self._module, cls)
            for ancestor in lineage(self._findings.source, place) if place else ():
                for node in statements(ancestor.node.body):
                    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                        found.setdefault(node.target.id, (ancestor.module, node))
            self._cache[cls] = found
        return self._cache[cls]


def add_argparse(findings: Findings, path: str, callers: Sequence[str] = ()) -> None:
    """Facts ``flag`` of every ``add_argument`` call in one file.

    ``callers``: files whose calls of this file's functions may give another default.
    """
    module = findings.source.module(path)
    if module is None:
        return
    parameters = _parameters(module, _given(findings, callers))
    tables = _kwargs_tables(module)
    fields = Fields(findings, module)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and text_of(node.func).endswith(".add_argument"):
            names = _names(module, node)
            if names:
                node = _bound(node, parameters.get(id(node), {}))
                _add(findings, module, node, names, tables, fields)


def _parameters(module: Module, given: set[str]) -> dict[int, dict[str, ast.expr]]:
    """id of a call -> parameters, with their defaults, of the function that it stands in."""
    found: dict[int, dict[str, ast.expr]] = {}
    for function in ast.walk(module.tree):  # outer before inner, so that the nearest one wins
        if not isinstance(function, ast.FunctionDef) or function.name in given:
            continue
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        defaults = function.args.defaults
        bound = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        for node in ast.walk(function) if bound else ():
            if isinstance(node, ast.Call):
                found[id(node)] = bound
    return found


def _given(findings: Findings, callers: Sequence[str]) -> set[str]:
    """Functions that are called somewhere with more than the parser."""
    modules = [m for m in map(findings.source.module, callers) if m is not None]
    calls = [n for m in modules for n in ast.walk(m.tree) if isinstance(n, ast.Call)]
    return {text_of(c.func).rpartition(".")[2] for c in calls if c.keywords or len(c.args) > 1}


def _bound(call: ast.Call, parameters: dict[str, ast.expr]) -> ast.Call:
    """The call with a default that names a parameter replaced by the parameter's own."""
    keywords = [
        ast.keyword(k.arg, parameters[k.value.id])
        if k.arg == "default" and isinstance(k.value, ast.Name) and k.value.id in parameters
        else k
        for k in call.keywords
    ]
    return ast.copy_location(ast.Call(call.func, call.args, keywords), call)


def _kwargs_tables(module: Module) -> dict[str, str]:
    """``x_kwargs = get_kwargs(Config)`` -> {"x_kwargs": "Config"}, wherever it stands."""
    tables = {}
    for node in ast.walk(module.tree):
        call = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(call, ast.Call) or not call.args:
            continue
        if text_of(call.func) == "get_kwargs":
            tables[text_of(node.targets[0])] = text_of(call.args[0])
    return tables


def _names(module: Module, call: ast.Call) -> list[str]:
    names = [a.value for a in call.args if isinstance(a, ast.Constant)]
    return [n for n in names if isinstance(n, str) and n.startswith("-")]


def _add(
    findings: Findings,
    module: Module,
    call: ast.Call,
    names: list[str],
    tables: dict[str, str],
    fields: Fields,
) -> None:
    detail: dict[str, Any] = {}
    value: Any = None
    for keyword in call.keywords:
        if keyword.arg is None:
            value = _from_field(keyword.value, tables, fields, detail)
        elif keyword.arg == "default":
            value = _default(module, keyword.value, fields, detail)
        elif keyword.arg == "choices":
            detail["choices"] = _choices(module, keyword.value)
        elif keyword.arg == "action" and isinstance(keyword.value, ast.Constant):
            if keyword.value.value == "store_true":
                value = False if value is None else value
            detail["action"] = str(keyword.value.value)
    add_flag(findings, module.path, call.lineno, names, value, detail)


def add_flag(
    findings: Findings, path: str, line: int, names: list[str], value: Any, detail: dict[str, Any]
) -> None:
    """One fact for every long name; the others than the first say which they are an alias of.

    Unresolved where the default is computed: no value is claimed then.
    """
    longs = [n for n in names if n.startswith("--")] or names[:1]
    shorts = [n for n in names if n not in longs]
    state: State = "unresolved" if value is None and detail.get("default_text") else "extracted"
    for name in longs:
        more = {"aliases": shorts} if name == longs[0] else {"alias_of": longs[0]}
        findings.add(
            "flag", name, value, path, line, state=state, kind="cli", detail={**detail, **more}
        )


def _default(module: Module, node: ast.expr, fields: Fields, detail: dict[str, Any]) -> Any:
    """A literal, or the default of the field that ``Class.field`` names."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        field = fields.of(node.value.id).get(node.attr)
        if field is not None:
            detail["config"] = f"{node.value.id}.{node.attr}"
            where, definition = field
            return field_value(where, definition, detail, fields)
    return shown(module, node, detail)


def _from_field(
    node: ast.expr, tables: dict[str, str], fields: Fields, detail: dict[str, Any]
) -> Any:
    """Default of ``x_kwargs["field"]``; ``{**x_kwargs["field"], "default": None}`` overrides it."""
    if isinstance(node, ast.Dict):
        value: Any = None
        for key, inner in zip(node.keys, node.values, strict=True):
            if key is None:
                value = _from_field(inner, tables, fields, detail)
            elif isinstance(key, ast.Constant) and key.value == "default":
                value = inner.value if isinstance(inner, ast.Constant) else None
        return value
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return None
    cls = tables.get(text_of(node.value), "")
    field = fields.of(cls).get(str(node.slice.value)) if cls else None
    detail["config"] = f"{cls}.{node.slice.value!s}" if cls else None
    if field is None:
        return None
    module, definition = field
    return field_value(module, definition, detail, fields)


def field_value(
    module: Module,
    node: ast.AnnAssign,
    detail: dict[str, Any],
    fields: Fields | None = None,
    depth: int = 0,
) -> Any:
    """Default of an annotated field; its ``Literal`` choices go into ``detail``.

    ``fields`` follows a default that is another class's field (``seed: int = ModelConfig.seed``).
    """
    choices = [
        c for c, _ in module.choices(node.annotation) if "Literal" in _expanded(module, node)
    ]
    if choices:
        detail["choices"] = choices[:40]
    value = node.value
    if isinstance(value, ast.Call) and text_of(value.func).rpartition(".")[2] in ("Field", "field"):
        named = {k.arg: k.value for k in value.keywords}
        value = named.get("default") or (value.args[0] if value.args else None)
        if value is None and "default_factory" in named:
            return _made(module, named["default_factory"], detail)
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and depth < 4:
        other = fields.of(value.value.id).get(value.attr) if fields else None
        if other is not None:
            return field_value(*other, {}, fields, depth + 1)
    if isinstance(value, ast.Name) and value.id not in module.assigned:
        value = _in_class(module, node, value.id) or value
    return None if value is None else shown(module, value, detail)


_EMPTY = {"dict": "{}", "list": "[]", "set": "[]", "tuple": "[]"}


def _made(module: Module, factory: ast.expr, detail: dict[str, Any]) -> Any:
    """What a default factory gives: an empty container, or the body of a lambda."""
    if isinstance(factory, ast.Name) and factory.id in _EMPTY:
        return ast.literal_eval(_EMPTY[factory.id])
    if isinstance(factory, ast.Lambda):
        return shown(module, factory.body, detail)
    detail["default_text"] = text_of(factory) + "()"
    return None


def _in_class(module: Module, field: ast.AnnAssign, name: str) -> ast.expr | None:
    """What a name is bound to in the class body that the field stands in."""
    for place in module.classes.values():
        body = list(statements(place.body))
        if any(node is field for node in body):
            bound = [getattr(n, "value", None) for n in body if bound_name(n) == name]
            return bound[0] if bound else None
    return None


def _expanded(module: Module, node: ast.AnnAssign) -> str:
    """Text of the annotation and of the aliases it names."""
    text = text_of(node.annotation)
    for inner in ast.walk(node.annotation):
        if isinstance(inner, ast.Name) and inner.id in module.assigned:
            text += " " + text_of(module.assigned[inner.id])
    return text


def shown(module: Module, node: ast.expr, detail: dict[str, Any]) -> Any:
    """A literal default, or None with its text in ``detail``."""
    try:
        value = module.literal(node)
    except Unresolved as text:
        detail["default_text"] = str(text)
        return None
    if isinstance(value, Dotted):
        detail["default_text"] = str(value)
        return None
    if isinstance(value, (bytes, complex)) or value is Ellipsis:
        detail["default_text"] = text_of(node)
        return None
    return value


def _choices(module: Module, node: ast.expr) -> list[Any]:
    try:
        value = module.literal(node)
    except Unresolved:
        return []
    return [v for v in value if isinstance(v, (str, int))][:40] if isinstance(value, list) else []


def add_fields(findings: Findings, path: str, classes: tuple[str, ...]) -> None:
    """Flags that are fields of a class: ``max_log_len`` -> ``--max-log-len``."""
    module = findings.source.module(path)
    if module is None:
        return
    fields = Fields(findings, module)
    for cls in classes:
        for name, (where, node) in fields.of(cls).items():
            if name.startswith("_"):
                continue
            detail: dict[str, Any] = {"config": f"{cls}.{name}"}
            value = field_value(where, node, detail, fields)
            subject = "--" + name.replace("_", "-")
            add_flag(findings, where.path, node.lineno, [subject], value, detail)


def flag_choices(module: Module, flag: str) -> list[tuple[str, int]]:
    """The choices of one ``add_argument`` call: (text, line)."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or not text_of(node.func).endswith("add_argument"):
            continue
        if flag not in [a.value for a in node.args if isinstance(a, ast.Constant)]:
            continue
        for keyword in node.keywords:
            if keyword.arg == "choices" and isinstance(keyword.value, (ast.List, ast.Tuple)):
                constants = [e for e in keyword.value.elts if isinstance(e, ast.Constant)]
                return [(str(e.value), e.lineno) for e in constants]
    return []
