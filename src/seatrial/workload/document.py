"""The workload file as plain data: YAML without surprises.

Only the safe loader, at most 1 MiB, no aliases (a few lines of them unfold to gigabytes), no key
twice, no more than 30 levels. Positions are kept so that an error can name its line.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.constructor import ConstructorError

from seatrial.core.errors import UsageError

MAX_BYTES = 1 << 20
MAX_DEPTH = 30
_REMEDY = "mend the file; the keys are in the published schema seatrial/workload/1"


class _Loader(yaml.SafeLoader):
    """The safe loader, stricter: no aliases, no key twice, bounded depth."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise ConstructorError(None, None, "aliases are not allowed", mark)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ConstructorError(None, None, f"more than {MAX_DEPTH} levels", None)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise ConstructorError(None, None, "a key that is no text", key_node.start_mark)
            if key in seen:
                raise ConstructorError(None, None, f"the key {key} twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def parse(raw: bytes, name: str) -> dict[str, Any]:
    """The mapping that the file holds.

    Raises:
        UsageError: too large, no UTF-8, no YAML, or no mapping.
    """
    if len(raw) > MAX_BYTES:
        raise UsageError("a workload file of more than 1 MiB", where=name, remedy=_REMEDY)
    try:
        text = raw.decode("utf-8-sig")
        value = yaml.load(text, Loader=_Loader)
    except UnicodeDecodeError:
        raise UsageError("the file is not UTF-8 text", where=name, remedy=_REMEDY) from None
    except yaml.YAMLError as error:
        raise UsageError(
            f"not valid YAML: {_why(error)}", where=_place(error, name), remedy=_REMEDY
        ) from None
    except (RecursionError, ValueError, OverflowError) as error:
        raise UsageError(f"not valid YAML: {error}", where=name, remedy=_REMEDY) from None
    if not isinstance(value, dict):
        raise UsageError("the file is not a mapping of keys", where=name, remedy=_REMEDY)
    return value


def _why(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        return error.problem or error.context or "unreadable"
    return str(error).splitlines()[0] if str(error) else "unreadable"


def _place(error: yaml.YAMLError, name: str) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return name if mark is None else f"{name}, line {mark.line + 1}, column {mark.column + 1}"
