"""Names of Prometheus metrics: every whole string that starts with the engine's prefix.

Names sit in keywords, tuples and constants; a prefix such as ``vllm:`` makes them certain. The
kind is that of the call around the name, where there is one. Prometheus appends ``_total``,
``_bucket``, ``_sum``, ``_count`` and ``_created`` on the wire; the names here are the static ones.
"""

from __future__ import annotations

import ast
import re

from seatrial.facts.extract.findings import Findings
from seatrial.facts.extract.pyast import text_of

_KINDS = ("counter", "gauge", "histogram", "summary")


def add_metrics(findings: Findings, paths: list[str], prefix: str) -> None:
    """Facts ``metric``: name -> kind ("unknown" where the call does not say)."""
    pattern = re.compile(re.escape(prefix) + r"[a-z][a-zA-Z0-9_:]*")
    findings.source.fetch(paths)
    for path in paths:
        module = findings.source.module(path)
        if module is None:
            continue
        kinds: dict[str, tuple[str, int]] = {}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and (kind := _kind(text_of(node.func))):
                for inner in [*node.args, *(k.value for k in node.keywords if k.arg == "name")]:
                    if name := _name(inner, pattern):
                        kinds.setdefault(name, (kind, inner.lineno))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and (name := _name(node, pattern)):
                kinds.setdefault(name, ("unknown", node.lineno))
        for name, (kind, line) in kinds.items():
            if not _known(findings, name, kind):
                findings.add("metric", name, kind, path, line)


def _name(node: ast.expr, pattern: re.Pattern[str]) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _known(findings: Findings, name: str, kind: str) -> bool:
    """A name that is there already is not repeated with a kind that says less."""
    rows = findings.rows.get("metric", [])
    return any(r[0] == name and (kind == "unknown" or r[1] == kind) for r in rows)


def _kind(call: str) -> str | None:
    lower = call.lower()
    return next((k for k in _KINDS if k in lower), None)
