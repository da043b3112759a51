"""``--redact``: a dossier that can leave the house. Hosts, paths and prices are hidden.

Hidden is what names a machine, an account or an amount of money: host names and addresses in
URLs, IP addresses, absolute and home paths, values under keys that speak of prices, hosts or
users. What is shown stays exactly as it was, so numbers can still be checked.
"""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "[redacted]"
_KEY = re.compile(
    r"(^|_|\.)(usd|prices?|costs?|host|hostname|user|username|email|endpoint)(_|\.|$)", re.I
)
_TEXT = (
    re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s/'\"<>]+", re.I),
    re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"),
    re.compile(r"(?<![\w.])~?(?:/[\w.@+-]+){2,}/?"),
    re.compile(r"\b[A-Za-z]:\\[^\s'\"<>]+"),
    re.compile(r"(?:US)?\$\s?\d[\d.,]*|\b\d[\d.,]*\s?(?:USD|EUR|CNY)\b"),
    re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.]+\b"),
)
_LEAVE = ("sql", "sql_prelude", "candidates_sql", "spec", "$schema")


def redacted(value: Any) -> Any:
    """A dossier's builtins with what is private hidden; sets ``redacted``."""
    hidden = _walk(value)
    if (hidden.get("deployment") or {}).get("files"):  # half of a deployment file deploys nothing
        hidden["deployment"] = {"candidate": "", "files": {}, "because": HIDDEN}
    hidden["redacted"] = True
    return hidden


def _walk(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: v if k in _LEAVE else _hide(v) if _KEY.search(k) else _walk(v)
            for k, v in value.items()
        }
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[0], str) and _KEY.search(value[0]):
            return [value[0], _hide(value[1])]
        return [_walk(v) for v in value]
    return text(value) if isinstance(value, str) else value


def _hide(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _hide(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_hide(v) for v in value]
    return HIDDEN if value is not None else None


def text(said: str) -> str:
    """One text with addresses, paths and amounts hidden."""
    for pattern in _TEXT:
        said = pattern.sub(HIDDEN, said)
    return said
