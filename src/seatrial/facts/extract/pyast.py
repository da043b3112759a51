"""Reading values out of Python source without running it.

Only what can be known from the text is returned: constants, tuples, lists, dicts, joined string
literals, names bound once at module level, and one comprehension shape that registries use
(``{k: v for k, v in OTHER.items() if ...}``). Anything else raises ``Unresolved`` with its text,
so that a computed value is reported as computed and never as a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec

_DEPTH_MAX = 40


class Unresolved(Exception):
    """The value is computed when the engine runs; ``str()`` is its source text."""


class Dotted(str):
    """A name or attribute such as ``torch.half``: its text, not its value."""

    __slots__ = ()


class Item(msgspec.Struct, frozen=True):
    """One entry of a dict literal: key, value (or the text of it, if ``resolved`` is False).

    ``copied``: it comes out of another dict by a spread or a comprehension.
    """

    key: str
    value: Any
    line: int
    resolved: bool = True
    copied: bool = False


class Module:
    """One parsed file. Raises SyntaxError when it does not parse."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path = path
        self.tree = ast.parse(source.decode("utf-8-sig", "replace"))

    @cached_property
    def assigned(self) -> dict[str, ast.expr]:
        """Names bound at module level (also below ``if`` and ``try``) -> the last expression.

        A name that an import or a class binds later is no longer the expression's.
        """
        found: dict[str, ast.expr] = {}
        for node in statements(self.tree.body):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found.pop(alias.asname or alias.name, None)
            elif isinstance(node, ast.ClassDef):
                found.pop(node.name, None)
            for name, value in _bindings(node):
                found[name] = value
        return found

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Classes at module level, also below ``if`` and ``try``."""
        return {n.name: n for n in statements(self.tree.body) if isinstance(n, ast.ClassDef)}

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Local name -> (module as written, with its dots; name there), anywhere in the file."""
        found: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for alias in node.names:
                    found[alias.asname or alias.name] = (module, alias.name)
        return found

    def literal(self, node: ast.expr, bound: dict[str, Any] | None = None, depth: int = 0) -> Any:
        """The value of an expression. Raises Unresolved."""
        bound = bound or {}
        if depth > _DEPTH_MAX:
            raise Unresolved(text_of(node))
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return self._sequence(node.elts, bound, depth)
        if isinstance(node, ast.Dict):
            return {i.key: i.value for i in self._expand(node, bound, depth)}
        if isinstance(node, ast.Name):
            return self._name(node, bound, depth)
        if isinstance(node, ast.Attribute):
            return Dotted(text_of(node))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
            return self._arithmetic(node, bound, depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.literal(node.operand, bound, depth + 1)
            if isinstance(value, (int, float)):
                return -value
        if isinstance(node, ast.JoinedStr):
            return self._joined(node, bound, depth)
        raise Unresolved(text_of(node))

    def _sequence(self, nodes: list[ast.expr], bound: dict[str, Any], depth: int) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.literal(node.value, bound, depth + 1)
                if not isinstance(inner, list):
                    raise Unresolved(text_of(node))
                values.extend(inner)
            else:
                values.append(self.literal(node, bound, depth + 1))
        return values

    def _name(self, node: ast.Name, bound: dict[str, Any], depth: int) -> Any:
        if node.id in bound:
            return bound[node.id]
        if node.id in self.assigned:
            return self.literal(self.assigned[node.id], bound, depth + 1)
        return Dotted(node.id)

    def _arithmetic(self, node: ast.BinOp, bound: dict[str, Any], depth: int) -> Any:
        left = self.literal(node.left, bound, depth + 1)
        right = self.literal(node.right, bound, depth + 1)
        if isinstance(node.op, ast.Mult):  # sizes: 16 * 1024 * 1024
            if isinstance(left, (int, float)) and isinstance(right, (int, float)):
                return left * right
            raise Unresolved(text_of(node))
        plain = not isinstance(left, Dotted) and not isinstance(right, Dotted)
        if plain and type(left) is type(right) and isinstance(left, (str, list, int)):
            return left + right
        raise Unresolved(text_of(node))

    def _joined(self, node: ast.JoinedStr, bound: dict[str, Any], depth: int) -> str:
        parts = []
        for piece in node.values:
            inner = piece.value if isinstance(piece, ast.FormattedValue) else piece
            value = self.literal(inner, bound, depth + 1)
            if isinstance(value, Dotted) or not isinstance(value, (str, int)):
                raise Unresolved(text_of(node))
            parts.append(str(value))
        return "".join(parts)

    def entries(self, node: ast.expr) -> list[Item]:
        """Entries of a dict expression in order, spreads and comprehensions expanded.

        Raises:
            Unresolved: it is not a dict that can be read from the text.
        """
        return list(self._expand(node, {}, 0))

    def _expand(self, node: ast.expr, bound: dict[str, Any], depth: int) -> Iterator[Item]:
        if depth > _DEPTH_MAX:
            raise Unresolved(text_of(node))
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    for item in self._expand(value, bound, depth + 1):
                        yield msgspec.structs.replace(item, copied=True)
                else:
                    yield self._item(self._key(key, bound, depth), value, key.lineno, bound, depth)
        elif isinstance(node, ast.Name) and node.id in self.assigned:
            yield from self._expand(self.assigned[node.id], bound, depth + 1)
        elif isinstance(node, ast.DictComp):
            yield from self._comprehension(node, depth)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from self._expand(node.left, bound, depth + 1)
            yield from self._expand(node.right, bound, depth + 1)
        elif isinstance(node, ast.Call):
            yield from self._call(node, bound, depth)
        else:
            raise Unresolved(text_of(node))

    def _call(self, node: ast.Call, bound: dict[str, Any], depth: int) -> Iterator[Item]:
        """``dict(A=1)`` and ``OrderedDict([("a", 1)])``."""
        if text_of(node.func).rpartition(".")[2] not in ("dict", "OrderedDict"):
            raise Unresolved(text_of(node))
        for argument in node.args:
            if isinstance(argument, (ast.List, ast.Tuple)):
                for pair in argument.elts:
                    if (other := _items_of(pair)) is not None:
                        yield from self._expand(other, bound, depth + 1)
                        continue
                    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
                        raise Unresolved(text_of(pair))
                    key = self._key(pair.elts[0], bound, depth)
                    yield self._item(key, pair.elts[1], pair.lineno, bound, depth)
            else:
                yield from self._expand(argument, bound, depth + 1)
        for keyword in node.keywords:
            if keyword.arg is None:
                yield from self._expand(keyword.value, bound, depth + 1)
            else:
                yield self._item(keyword.arg, keyword.value, keyword.lineno, bound, depth)

    def _key(self, node: ast.expr, bound: dict[str, Any], depth: int) -> str:
        return str(self.literal(node, bound, depth + 1))

    def _item(self, key: str, node: ast.expr, line: int, bound: dict[str, Any], depth: int) -> Item:
        try:
            return Item(key, self.literal(node, bound, depth + 1), line)
        except Unresolved as text:
            return Item(key, str(text), line, False)

    def _comprehension(self, node: ast.DictComp, depth: int) -> Iterator[Item]:
        """``{k: v for k, v in OTHER.items() if TEST}``, targets may be nested tuples."""
        generator = node.generators[0]
        source = generator.iter
        if (
            len(node.generators) != 1
            or not isinstance(source, ast.Call)
            or not isinstance(source.func, ast.Attribute)
            or source.func.attr != "items"
        ):
            raise Unresolved(text_of(node))
        for item in self._expand(source.func.value, {}, depth + 1):
            bound = dict(_unpack(generator.target, [item.key, item.value]))
            if all(self._test(test, bound) for test in generator.ifs):
                key = str(self.literal(node.key, bound, depth + 1))
                made = self._item(key, node.value, node.lineno, bound, depth)
                yield msgspec.structs.replace(made, copied=True)

    def _test(self, node: ast.expr, bound: dict[str, Any]) -> bool:
        if isinstance(node, ast.BoolOp):
            results = [self._test(value, bound) for value in node.values]
            return all(results) if isinstance(node.op, ast.And) else any(results)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not self._test(node.operand, bound)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left = self.literal(node.left, bound)
            right = self.literal(node.comparators[0], bound)
            known = not isinstance(left, Dotted) and not isinstance(right, Dotted)
            if known and isinstance(node.ops[0], ast.Eq):
                return bool(left == right)
            if known and isinstance(node.ops[0], ast.NotEq):
                return bool(left != right)
            if known and isinstance(node.ops[0], ast.In) and isinstance(right, (list, str, dict)):
                return left in right
            if (
                known
                and isinstance(node.ops[0], ast.NotIn)
                and isinstance(right, (list, str, dict))
            ):
                return left not in right
        raise Unresolved(text_of(node))

    def choices(self, node: ast.expr, depth: int = 0) -> list[tuple[str, int]]:
        """Strings of ``Literal[...]`` and where they stand; nested aliases flattened, in order."""
        found: dict[str, int] = {}
        for text, line in self._choices(node, depth):
            found.setdefault(text, line)
        return list(found.items())

    def _choices(self, node: ast.expr, depth: int) -> Iterator[tuple[str, int]]:
        if depth > _DEPTH_MAX:
            return
        if isinstance(node, ast.Subscript):
            if text_of(node.value).rpartition(".")[2] == "Literal":
                inner = node.slice
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                for part in parts:
                    yield from self._choices(part, depth + 1)
            else:
                yield from self._choices(node.slice, depth + 1)
        elif isinstance(node, ast.Constant) and node.value is not None:
            yield str(node.value), node.lineno
        elif isinstance(node, ast.Name) and node.id in self.assigned:
            yield from self._choices(self.assigned[node.id], depth + 1)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from self._choices(node.left, depth + 1)
            yield from self._choices(node.right, depth + 1)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for part in node.elts:
                yield from self._choices(part, depth + 1)


def text_of(node: ast.AST) -> str:
    """An expression's text, one line, at most 200 characters."""
    return " ".join(ast.unparse(node).split())[:200]


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at one level, those below ``if``, ``try`` and ``with`` included."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from statements(node.body)
            yield from statements(node.orelse)
        elif isinstance(node, ast.Try):
            yield from statements(node.body)
            for handler in node.handlers:
                yield from statements(handler.body)
            yield from statements(node.orelse)
        elif isinstance(node, ast.With):
            yield from statements(node.body)


def _bindings(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        if isinstance(node.target, ast.Name):
            yield node.target.id, node.value
    elif hasattr(ast, "TypeAlias") and isinstance(node, ast.TypeAlias):
        yield node.name.id, node.value


def _items_of(node: ast.expr) -> ast.expr | None:
    """X of ``*X.items()`` and ``*list(X.items())``."""
    inner = node.value if isinstance(node, ast.Starred) else None
    if isinstance(inner, ast.Call) and text_of(inner.func) == "list" and inner.args:
        inner = inner.args[0]
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
        return inner.func.value if inner.func.attr == "items" else None
    return None


def _unpack(target: ast.expr, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, list):
        if len(target.elts) != len(value):
            raise Unresolved(text_of(target))
        for part, inner in zip(target.elts, value, strict=True):
            yield from _unpack(part, inner)
    else:
        raise Unresolved(text_of(target))


def functions(owner: ast.ClassDef | ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions defined directly in a class or module."""
    return {n.name: n for n in statements(owner.body) if isinstance(n, ast.FunctionDef)}


def returned(function: ast.FunctionDef) -> ast.expr | None:
    """The expression of a function whose only returns are one; None if there are several."""
    found = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    return found[0].value if len(found) == 1 else None


def bound_name(node: ast.stmt) -> str | None:
    """The name that a plain or annotated assignment binds; None for other statements."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None
