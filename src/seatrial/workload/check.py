"""All errors of a workload file at once: unknown keys, wrong types, contradictions.

The walk follows the types of ``spec``, so that a key added there is known here. Each error names
the key's path and what would be right; an unknown key names the nearest known one.
"""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import inspect

from seatrial.core.errors import UsageError
from seatrial.workload.spec import Workload
from seatrial.workload.values import value_errors

_WORDS = {
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.StrType: "text",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.ListType: "a list",
    inspect.DictType: "a mapping",
    inspect.StructType: "a mapping",
    inspect.AnyType: "anything",
}
Errors = list[str]


def shape_errors(value: Any) -> Errors:
    """Every unknown key, missing key and wrong type in the document."""
    errors: Errors = []
    _walk(value, inspect.type_info(Workload), "", errors)
    return errors


def _walk(value: Any, kind: inspect.Type, path: str, errors: Errors) -> None:
    if isinstance(kind, inspect.UnionType):
        _walk_union(value, kind, path, errors)
    elif isinstance(kind, inspect.StructType):
        _walk_struct(value, kind, path, errors)
    elif isinstance(kind, inspect.ListType) and isinstance(value, list):
        for place, item in enumerate(value):
            _walk(item, kind.item_type, f"{path}[{place}]", errors)
    elif isinstance(kind, inspect.DictType) and isinstance(value, dict):
        for key, item in value.items():
            _walk(key, kind.key_type, f"{path}.{key} (the key)", errors)
            _walk(item, kind.value_type, f"{path}.{key}", errors)
    elif not _fits(value, kind):
        errors.append(f"{path}: must be {_words(kind)}, is {_shown(value)}{_meant(value, kind)}")


def _walk_struct(value: Any, kind: inspect.StructType, path: str, errors: Errors) -> None:
    if not isinstance(value, dict):
        errors.append(f"{path}: must be a mapping, is {_shown(value)}")
        return
    known = {field.encode_name: field for field in kind.fields}
    for key, item in value.items():
        place = f"{path}.{key}" if path else key
        if key not in known:
            errors.append(f"{place}: unknown key{_nearest(key, known, path)}")
        else:
            _walk(item, known[key].type, place, errors)
    for key, field in known.items():
        if field.required and key not in value:
            errors.append(f"{path + '.' if path else ''}{key}: missing")


def _walk_union(value: Any, kind: inspect.UnionType, path: str, errors: Errors) -> None:
    if any(_fits(value, option) for option in kind.types):
        return
    for option in kind.types:
        inside = isinstance(option, (inspect.StructType, inspect.DictType)) and isinstance(
            value, dict
        )
        if inside or (isinstance(option, inspect.ListType) and isinstance(value, list)):
            _walk(value, option, path, errors)
            return
    errors.append(f"{path}: must be {_words(kind)}, is {_shown(value)}{_meant(value, kind)}")


def _meant(value: Any, kind: inspect.Type) -> str:
    """The nearest of the words that are allowed."""
    options = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    words = [str(v) for o in options if isinstance(o, inspect.LiteralType) for v in o.values]
    near = get_close_matches(value.lower(), words, n=1) if isinstance(value, str) else []
    return f"; did you mean {near[0]}?" if near else ""


def _fits(value: Any, kind: inspect.Type) -> bool:
    match kind:
        case inspect.AnyType():
            return True
        case inspect.NoneType():
            return value is None
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            return type(value) is int
        case inspect.FloatType():
            return type(value) in (int, float) and math.isfinite(value)
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.LiteralType():
            return any(value == v and type(value) is type(v) for v in kind.values)
    return False


def _words(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in kind.values)
    if isinstance(kind, inspect.UnionType):
        parts = dict.fromkeys(_words(option) for option in kind.types)
        return " or ".join(part for part in parts if part != "null") or "null"
    return _WORDS.get(type(kind), "something else")


def _shown(value: Any) -> str:
    """The value as an error may print it: short, printable, and the kind of it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = "".join(c if c.isprintable() else "?" for c in str(value))[:60]
    return f"the text {text!r}" if isinstance(value, str) else f"the number {text}"


def _nearest(key: str, known: dict[str, inspect.Field], path: str) -> str:
    near = get_close_matches(key, known, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]}?"
    return f" ({path or 'the file'} takes: {', '.join(known)})"


def sense_errors(spec: Workload) -> Errors:
    """Contradictions and impossible numbers in a document whose types are right."""
    errors: Errors = []
    _positive(msgspec.to_builtins(spec), "", errors)
    errors.extend(value_errors(spec))
    if spec.traffic is not None:
        _traffic(spec, errors)
    if spec.hardware.gpu is not None and spec.hardware.cpu == "auto":
        errors.append(
            "hardware: gpu and cpu: auto exclude each other; describe the CPU as a mapping"
        )
    names = [c.name for c in spec.candidates or () if c.name is not None]
    errors.extend(
        f"candidates: the name {n} twice" for n in sorted({n for n in names if names.count(n) > 1})
    )
    named = [("name", spec.name)]
    named += [
        (f"candidates[{n}].name", c.name) for n, c in enumerate(spec.candidates or ()) if c.name
    ]
    errors.extend(f"{key}: {why}" for key, name in named if (why := _no_folder(name)) is not None)
    if spec.candidates is not None and not spec.candidates:
        errors.append("candidates: an empty list; leave the key out for every engine known")
    if not 0 < spec.trial.margin < 1:
        errors.append("trial.margin: must lie between 0 and 1 (0.03 is three per cent)")
    for key, share in (("error_rate", spec.slo.error_rate), ("goodput", spec.slo.goodput)):
        if share is not None and share > 1:
            errors.append(f"slo.{key}: is a share, from 0 to 1")
    return errors


def _no_folder(name: str) -> str | None:
    """Why a name cannot be a folder's, as it will be; null if it can."""
    if not name.strip() or name.startswith(".") or any(c in name for c in "/\\"):
        return "becomes a folder's name: no slash, no dot at its beginning, not empty"
    if not name.isprintable():
        return "becomes a folder's name: no control characters"
    if len(name.encode()) > _LONGEST_NAME:
        return (
            f"becomes a folder's name: at most {_LONGEST_NAME} bytes, it has {len(name.encode())}"
        )
    return None


_LONGEST_NAME = 120
"""A file system takes 255 bytes; versions, numbers and endings are added to it."""


def require_sense(spec: Workload, *, where: str, remedy: str) -> Workload:
    """The workload as it is, where it was not read from a file but put together.

    Raises:
        UsageError: with every contradiction and impossible number.
    """
    errors = sense_errors(spec)
    if errors:
        raise UsageError("; ".join(errors), where=where, remedy=remedy)
    return spec


_MAY_BE_ZERO = {
    "error_rate", "goodput", "start_s", "seed", "shared_prefix_tokens", "model_changes_per_month",
    "max_adapters", "logprobs", "usd_per_hour", "drain_s",
}  # fmt: skip
_FREE = {"args", "env", "speculative"}


def _positive(value: Any, path: str, errors: Errors) -> None:
    for key, item in value.items() if isinstance(value, dict) else ():
        place = f"{path}.{key}" if path else key
        if key in _FREE:
            continue
        if isinstance(item, dict):
            _positive(item, place, errors)
        elif isinstance(item, list):
            for number, one in enumerate(item):
                _positive(one, f"{place}[{number}]", errors)
        elif _number(item) and (item < 0 or (item == 0 and key not in _MAY_BE_ZERO)):
            errors.append(f"{place}: must be above 0, is {item}")


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _traffic(spec: Workload, errors: Errors) -> None:
    traffic = spec.traffic
    assert traffic is not None
    ways = [k for k in ("trace", "synthetic", "people") if getattr(traffic, k) is not None]
    if len(ways) != 1:
        said = f"has {' and '.join(ways)}" if ways else "has none of them"
        errors.append(f"traffic: takes one of trace, synthetic, people; {said}")
    synthetic = traffic.synthetic
    if synthetic is None:
        return
    if (synthetic.rate_per_s is None) == (synthetic.concurrency is None):
        errors.append("traffic.synthetic: takes one of rate_per_s and concurrency")
    for key in ("input_tokens", "output_tokens"):
        lengths = getattr(synthetic, key)
        if not isinstance(lengths, int) and lengths.p99 is not None and lengths.p99 < lengths.mean:
            errors.append(f"traffic.synthetic.{key}: p99 lies below the mean")
    size = synthetic.input_tokens
    mean = size if isinstance(size, int) else size.mean
    if synthetic.shared_prefix_tokens > mean:
        errors.append("traffic.synthetic.shared_prefix_tokens: more than the mean of input_tokens")
