"""llama.cpp's command line: options from ``arg.cpp``, their defaults from ``common.h``.

An option's handler sets one field of ``common_params``; the field's initialiser is the default.
The server's own initial values go before the struct's. Where the handler does more than set one
field the default is computed: the fact is then ``unresolved``, with the text. An option that the
program refuses as removed is ``conditional`` and says so.
"""

from __future__ import annotations

import re
from typing import Any

from seatrial.facts.extract.findings import Findings
from seatrial.facts.extract.textscan import Hit, Text
from seatrial.facts.record import State

_FIELD = re.compile(
    r"^\s*(?:const\s+|enum\s+|struct\s+)?(?P<type>[\w:]+(?:<[^;=]*>)?)\s+(?P<name>\w+)"
    r"\s*(?:=\s*(?P<value>[^;]+?)\s*)?;",
    re.MULTILINE,
)
_ASSIGNED = re.compile(r"\bparams\.([a-z_][\w.]*)\s*=(?!=)\s*([^;]+);")
_NUMBER = re.compile(r"-?\d+$")
_FLOAT = re.compile(r"-?\d+\.\d*f?$")


class Defaults:
    """Initialisers of ``common_params`` and of the structs inside it, by dotted field."""

    def __init__(self, text: Text | None) -> None:
        self._structs: dict[str, dict[str, tuple[str, str | None]]] = {}
        for hit in text.find(r"^struct (common_\w+) \{") if text else ():
            inside = text.block(rf"^struct {hit[1]} \{{") if text else None
            if text and inside:
                body = text.code[inside[0] : inside[1]]
                found = {m["name"]: (m["type"], m["value"]) for m in _FIELD.finditer(body)}
                self._structs[hit[1]] = found

    def of(self, dotted: str) -> tuple[str, str | None] | None:
        """(type, initialiser) of ``sampling.temp``; None if the field is not found."""
        struct = "common_params"
        *parents, name = dotted.split(".")
        for parent in parents:
            field = self._structs.get(struct, {}).get(parent)
            if field is None:
                return None
            struct = field[0].rpartition("::")[2]
        return self._structs.get(struct, {}).get(name)


def value_of(kind: str, text: str | None) -> tuple[Any, str | None]:
    """(value, None) of an initialiser that is a literal, else (None, its text)."""
    if text is None:
        if kind == "std::string":
            return "", None
        return ([], None) if kind.startswith("std::vector") else (None, "not initialised")
    if text in ("true", "false"):
        return text == "true", None
    if _NUMBER.match(text):
        return int(text), None
    if _FLOAT.match(text):
        return float(text.rstrip("f")), None
    if text.startswith('"') and text.endswith('"') and text.count('"') == 2:
        return text[1:-1], None
    if found := re.fullmatch(r"GGML_TYPE_(\w+)", text):
        return found[1].lower(), None
    return None, " ".join(text.split())[:120]


def flags(findings: Findings, text: Text, header: Text | None) -> None:
    """``add_opt(common_arg({"-c", "--ctx-size"}, ...).set_env("LLAMA_ARG_CTX_SIZE"))``."""
    defaults = Defaults(header)
    starts = list(text.find(r"add_opt\(common_arg\(\s*(\{[^}]*\})(\s*,\s*\{[^}]*\})?"))
    own = text.block(r"ex == LLAMA_EXAMPLE_SERVER\) \{")
    inside = text.code[own[0] : own[1]] if own else ""
    server = {m[1]: m[2].strip() for m in _ASSIGNED.finditer(inside)}
    ends = [*(hit.start for hit in starts[1:]), len(text.code)]
    for hit, end in zip(starts, ends, strict=True):
        _flag(findings, text, hit, text.code[hit.end : end], defaults, server)


def _flag(
    findings: Findings, text: Text, hit: Hit, body: str, defaults: Defaults, server: dict[str, str]
) -> None:
    names = re.findall(r'"(-[^"]+)"', hit[1])
    env = re.search(r'\.set_env\("(\w+)"\)', body)
    examples = re.search(r"\.set_examples\(\{([^}]*)\}\)", body)
    hint = re.match(r'\s*,\s*"([A-Za-z{\[<][^"]{0,60})"\s*,', body)
    long = next((n for n in names if n.startswith("--")), names[0] if names else "")
    value, computed = default_of(body, defaults, server)
    refused = re.search(r'arg_removed\(\s*"([^"]*)"', body)
    state: State = "unresolved" if value is None and computed else "extracted"
    for name in [n for n in names if n.startswith("--")] or [long]:
        findings.add(
            "flag",
            name,
            value,
            text.path,
            hit.line,
            state="conditional" if refused else state,
            condition=f"refused: {refused[1]}" if refused else None,
            kind="cli",
            detail={
                "env": env[1] if env else None,
                "server": examples is None or "SERVER" in examples[1] or "COMMON" in examples[1],
                "takes": hint[1] if hint else None,
                "alias_of": long if name != long else None,
                "aliases": [n for n in names if not n.startswith("--")],
                "negative": re.findall(r'"(-[^"]+)"', hit[2]),
                "default_text": computed,
            },
        )


def default_of(body: str, defaults: Defaults, server: dict[str, str]) -> tuple[Any, str | None]:
    """(value, None), or (None, why not); (None, None) for an option that sets no field.

    ``server``: initial values that the server gives instead of the struct's.
    """
    handler = re.search(r"\[\]\s*\(\s*common_params\s*&(?P<named>\s*\w+)?\s*(?P<more>,)?", body)
    if handler is None or not handler["named"]:
        return None, None  # the handler does not look at the parameters
    inside = body[handler.end() :]
    takes = handler["more"] is not None
    assigned = list(_ASSIGNED.finditer(inside))
    set_by_value = [m for m in assigned if "value" in m[2]] if takes else assigned
    fields = {m[1] for m in set_by_value[:1]} or {m[1] for m in assigned}
    if len(fields) != 1:
        touched = re.search(r"\bparams\.(\w+)", inside)
        return None, f"params.{touched[1]}, set in a handler" if touched else None
    [name] = fields
    field = defaults.of(name)
    if field is None:
        return None, f"params.{name}"
    if not takes and field[0] != "bool":
        return None, None  # an action, no setting
    value, computed = value_of(field[0], server.get(name, field[1]))
    if not takes and value is True and assigned[0][2].strip() == "false":
        value = False  # --no-x: the field is on until it is given
    return value, computed
