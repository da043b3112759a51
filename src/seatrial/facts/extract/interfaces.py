"""What a model class claims: LoRA, pipeline parallelism and so on, from its base classes.

vLLM states them as mix-ins (``SupportsLoRA``, ``SupportsPP``). Three hundred model files are not
parsed but searched for class statements; bases are followed by name, within the file first. A
class whose file was not found says nothing, rather than "no".
"""

from __future__ import annotations

import re

from seatrial.facts.extract.findings import Findings

_CLASS = re.compile(r"^class\s+(\w+)\s*\(([^)]*)\)\s*:", re.MULTILINE)
_DEPTH_MAX = 8

Table = dict[str, dict[str, list[str]]]
"""path -> class -> names of its bases."""


def class_table(findings: Findings, paths: list[str]) -> Table:
    """Class statements of these files."""
    findings.source.fetch(paths)
    table: Table = {}
    for path in paths:
        text = findings.source.text(path)
        classes = {}
        for match in _CLASS.finditer(text):
            bases = re.sub(r"#[^\n]*", "", match[2])
            names = [b.split("[")[0].strip().rpartition(".")[2] for b in bases.split(",")]
            classes[match[1]] = [n for n in names if n and "=" not in n]
        table[path] = classes
    return table


def ancestors(table: Table, path: str, cls: str) -> set[str] | None:
    """Names of all bases, near and far; None if the class is not in that file."""
    if cls not in table.get(path, {}):
        return None
    everywhere: dict[str, str] = {}
    for where, classes in table.items():
        for name in classes:
            everywhere.setdefault(name, where)
    found: set[str] = set()
    front = [(path, cls)]
    for _ in range(_DEPTH_MAX):
        following = []
        for where, name in front:
            for base in table[where].get(name, []):
                if base in found:
                    continue
                found.add(base)
                if base in table[where]:
                    following.append((where, base))
                elif base in everywhere:
                    following.append((everywhere[base], base))
        front = following
    return found


def claimed(table: Table, path: str, cls: str) -> list[str] | None:
    """The ``Supports...`` mix-ins of a class, sorted; None if it was not found."""
    names = ancestors(table, path, cls)
    return None if names is None else sorted(n for n in names if n.startswith("Supports"))
