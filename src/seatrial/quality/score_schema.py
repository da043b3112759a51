"""Is the answer JSON that a schema accepts?

The JSON text is taken from a fenced block where there is one, else from the first brace or
bracket on. Every validation keyword of draft 2020-12 is checked but ``unevaluated*`` and dynamic
references: a schema with one of those is refused, because an unchecked rule must not count as
kept. ``format`` and unknown words are annotations, as the specification has it.
Source: JSON Schema, validation vocabulary, draft 2020-12 (and ``definitions``, ``dependencies``,
tuple ``items`` of draft 7).
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from seatrial.core.errors import UsageError

_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_REFUSED = frozenset(
    ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef", "minContains"]
)
_MOST_DEPTH = 64
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
}


def schema_kept(text: str, schema: dict[str, Any] | bool) -> bool:
    """Whether ``text`` holds a JSON value that ``schema`` accepts."""
    found = json_in(text)
    return found is not None and Checker(schema).accepts(found[0])


def json_in(text: str) -> tuple[Any] | None:
    """The JSON value in an answer, as a tuple of one; None where there is none."""
    blocks = _FENCE.findall(text)
    candidates = [*blocks, text]
    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=None)
    if start is not None:
        end = max(text.rfind("}"), text.rfind("]"))
        candidates.append(text[start : end + 1])
    for candidate in candidates:
        try:
            return (msgspec.json.decode(candidate.strip()),)
        except (msgspec.DecodeError, RecursionError):
            continue
    return None


class Checker:
    """One schema, ready to accept or refuse values.

    Raises:
        UsageError: (while checking) a keyword that is not known here, or a reference that leads
            nowhere or round in circles.
    """

    def __init__(self, schema: dict[str, Any] | bool) -> None:
        self._root = schema

    def accepts(self, value: Any) -> bool:
        """Whether the value is valid."""
        return self._ok(value, self._root, 0)

    def _ok(self, value: Any, schema: Any, depth: int) -> bool:
        if isinstance(schema, bool):
            return schema
        if depth > _MOST_DEPTH or not isinstance(schema, dict):
            raise _bad("a schema that is nested too deep or is no object")
        for keyword, rule in schema.items():
            if keyword in _REFUSED:
                raise _bad(f"the keyword {keyword!r}")
            if keyword not in _METHODS:
                continue
            check = getattr(self, f"_{_METHODS[keyword]}")
            if not check(value, rule, schema, depth + 1):
                return False
        return True

    def _ref(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        target: Any = self._root
        if not isinstance(rule, str) or not rule.startswith("#"):
            raise _bad(f"the reference {rule!r}")
        for part in rule[1:].split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~").replace("%25", "%")
            if isinstance(target, list) and key.isdigit() and int(key) < len(target):
                target = target[int(key)]
            elif isinstance(target, dict) and key in target:
                target = target[key]
            else:
                raise _bad(f"the reference {rule!r}")
        return self._ok(value, target, depth)

    def _type(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return any(_is(value, name) for name in (rule if isinstance(rule, list) else [rule]))

    def _enum(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return any(_equal(value, item) for item in rule)

    def _const(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return _equal(value, rule)

    def _all_of(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return all(self._ok(value, item, depth) for item in rule)

    def _any_of(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return any(self._ok(value, item, depth) for item in rule)

    def _one_of(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return sum(self._ok(value, item, depth) for item in rule) == 1

    def _not(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not self._ok(value, rule, depth)

    def _if(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        branch = "then" if self._ok(value, rule, depth) else "else"
        return self._ok(value, schema.get(branch, True), depth)

    def _properties(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        if not isinstance(value, dict):
            return True
        return all(self._ok(value[k], sub, depth) for k, sub in rule.items() if k in value)

    def _pattern_properties(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        if not isinstance(value, dict):
            return True
        return all(
            self._ok(item, sub, depth)
            for pattern, sub in rule.items()
            for key, item in value.items()
            if _search(pattern, key)
        )

    def _additional(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        if not isinstance(value, dict):
            return True
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        extra = [k for k in value if k not in known and not any(_search(p, k) for p in patterns)]
        return all(self._ok(value[key], rule, depth) for key in extra)

    def _property_names(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, dict) or all(self._ok(key, rule, depth) for key in value)

    def _required(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, dict) or all(key in value for key in rule)

    def _dependencies(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        if not isinstance(value, dict):
            return True
        return all(
            all(k in value for k in sub) if isinstance(sub, list) else self._ok(value, sub, depth)
            for key, sub in rule.items()
            if key in value
        )

    def _items(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        if not isinstance(value, list):
            return True
        if isinstance(rule, list):  # draft 7: one schema per place, then additionalItems
            rest = schema.get("additionalItems", True)
            rules = [*rule, *[rest] * max(0, len(value) - len(rule))]
            return all(self._ok(item, sub, depth) for item, sub in zip(value, rules, strict=False))
        return all(
            self._ok(item, rule, depth) for item in value[len(schema.get("prefixItems", [])) :]
        )

    def _prefix_items(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        pairs = zip(value, rule, strict=False) if isinstance(value, list) else ()
        return all(self._ok(item, sub, depth) for item, sub in pairs)

    def _contains(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, list) or any(self._ok(item, rule, depth) for item in value)

    def _unique(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        if not rule or not isinstance(value, list):
            return True
        return not any(_equal(a, b) for i, a in enumerate(value) for b in value[:i])

    def _pattern(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, str) or _search(rule, value)

    def _min_length(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, str) or len(value) >= rule

    def _max_length(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, str) or len(value) <= rule

    def _min_items(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, list) or len(value) >= rule

    def _max_items(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, list) or len(value) <= rule

    def _min_properties(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, dict) or len(value) >= rule

    def _max_properties(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not isinstance(value, dict) or len(value) <= rule

    def _minimum(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not _is(value, "number") or value >= rule

    def _maximum(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not _is(value, "number") or value <= rule

    def _above(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not _is(value, "number") or value > rule

    def _below(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        return not _is(value, "number") or value < rule

    def _multiple(self, value: Any, rule: Any, schema: Any, depth: int) -> bool:
        if not _is(value, "number"):
            return True
        share = value / rule
        return bool(abs(share - round(share)) < 1e-9)


_METHODS = {
    "$ref": "ref",
    "type": "type",
    "enum": "enum",
    "const": "const",
    "allOf": "all_of",
    "anyOf": "any_of",
    "oneOf": "one_of",
    "not": "not",
    "if": "if",
    "properties": "properties",
    "patternProperties": "pattern_properties",
    "additionalProperties": "additional",
    "propertyNames": "property_names",
    "required": "required",
    "dependencies": "dependencies",
    "dependentRequired": "dependencies",
    "dependentSchemas": "dependencies",
    "items": "items",
    "prefixItems": "prefix_items",
    "contains": "contains",
    "uniqueItems": "unique",
    "pattern": "pattern",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "multipleOf": "multiple",
}


def _is(value: Any, name: Any) -> bool:
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if name == "integer":
        return _is(value, "number") and float(value).is_integer()
    return isinstance(value, _TYPES.get(name, ()))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def _search(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text[:10_000]) is not None
    except re.error as error:
        raise _bad(f"the pattern {pattern!r} ({error})") from error


def _bad(what: str) -> UsageError:
    return UsageError(
        f"this schema cannot be checked here: {what}",
        unchanged="nothing was scored",
        remedy="simplify the schema; docs/method/quality.md lists the keywords that are checked",
    )
