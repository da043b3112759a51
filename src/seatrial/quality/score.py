"""Was the answer right? One function per scorer, all of them pure, none of them a model.

* exact: equal after folding case, outer punctuation and white space; options "(B)" as well;
* numeric: the last number in the text equals the expected one (commas and a currency sign are
  ignored, as in GSM8K's own answers);
* contains: the expected text occurs, case folded;
* rules, schema, tools, code: in files of their own.
"""

from __future__ import annotations

import re
from typing import Any

from seatrial.quality.score_code import code_passes
from seatrial.quality.score_rules import rules_kept
from seatrial.quality.score_schema import schema_kept
from seatrial.quality.score_tools import calls_match
from seatrial.quality.task import Item

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_OPTION = re.compile(r"\(([A-Z])\)")


def score(item: Item, text: str, calls: list[dict[str, Any]] | None = None) -> bool:
    """Whether ``text`` (and the tool calls beside it) answers ``item``."""
    if item.scorer == "numeric":
        return numeric(text, str(item.expected))
    if item.scorer == "contains":
        return _fold(str(item.expected)) in _fold(text)
    if item.scorer == "rules":
        return rules_kept(text, item.expected, prompt=item.prompt)
    if item.scorer == "schema":
        return schema_kept(text, item.expected)
    if item.scorer == "tools":
        return calls_match(calls or [], item.expected, item.tools or [])
    if item.scorer == "code":
        return code_passes(text, item.expected)
    return exact(text, str(item.expected))


def numeric(text: str, expected: str) -> bool:
    """The last number in ``text`` equals ``expected``."""
    found = _NUMBER.findall(text)
    if not found:
        return False
    return abs(_number(found[-1]) - _number(expected)) < 1e-6


def exact(text: str, expected: str) -> bool:
    """The answer is ``expected``; for an option, the last option named is it."""
    if option := _OPTION.fullmatch(expected.strip()):
        named = _OPTION.findall(text)
        return bool(named) and named[-1] == option[1]
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return any(_fold(line) == _fold(expected) for line in ([text, lines[-1]] if lines else [text]))


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("$", "").strip().rstrip("."))


def _fold(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!\"'`*")
