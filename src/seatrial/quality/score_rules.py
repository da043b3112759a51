"""Instructions that a program can verify, after IFEval (Zhou et al., 2023, arXiv 2311.07911).

A rule is {"id": "...", arguments}; the ids are IFEval's. An answer is right when every rule is
kept (the strict reading). Not checked here, and so not in the shipped slice: the language of the
answer, which needs a detector.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from seatrial.core.errors import UsageError
from seatrial.quality.score_schema import json_in

Rule = dict[str, Any]
_CONSTRAINED = ("my answer is yes.", "my answer is no.", "my answer is maybe.")


def rules_kept(text: str, rules: list[Rule], *, prompt: str = "") -> bool:
    """Whether ``text`` keeps every rule.

    Raises:
        UsageError: a rule that is not known here.
    """
    for rule in rules:
        check = RULES.get(str(rule.get("id")))
        if check is None:
            raise UsageError(
                f"there is no rule {rule.get('id')!r}",
                unchanged="nothing was scored",
                remedy=f"the rules are {', '.join(sorted(RULES))}",
            )
        if not text.strip() or not check(text, rule):
            return False
    return True


def _compare(count: int, rule: Rule, number: str, relation: str = "relation") -> bool:
    wanted = int(rule[number])
    return count < wanted if rule.get(relation) == "less than" else count >= wanted


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _count(text: str, word: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE))


def _sentences(text: str) -> int:
    return len([part for part in re.split(r"[.!?]+(?:\s|$)", text) if part.strip()])


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\s?\*\*\*\s?", text) if part.strip()]


def _nth_paragraph(text: str, rule: Rule) -> bool:
    parts = [part.strip() for part in text.split("\n\n") if part.strip()]
    nth = int(rule["nth_paragraph"])
    if len(parts) != int(rule["num_paragraphs"]) or nth > len(parts):
        return False
    first = _words(parts[nth - 1])
    return bool(first) and first[0].casefold() == str(rule["first_word"]).casefold()


def _highlights(text: str, rule: Rule) -> bool:
    found = re.findall(r"\*\*[^\n*]+\*\*|\*[^\n*]+\*", text)
    return sum(bool(part.strip("* ")) for part in found) >= int(rule["num_highlights"])


def _sections(text: str, rule: Rule) -> bool:
    marker = re.escape(str(rule["section_spliter"]).strip())
    return len(re.findall(rf"(?m)\s?{marker}\s?\d+\s?", text)) >= int(rule["num_sections"])


def _two_responses(text: str, rule: Rule) -> bool:
    parts = [part.strip() for part in text.split("******") if part.strip()]
    return len(parts) == 2 and parts[0] != parts[1]


RULES: dict[str, Callable[[str, Rule], bool]] = {
    "punctuation:no_comma": lambda t, r: "," not in t,
    "length_constraints:number_words": lambda t, r: _compare(len(_words(t)), r, "num_words"),
    "length_constraints:number_sentences": lambda t, r: _compare(_sentences(t), r, "num_sentences"),
    "length_constraints:number_paragraphs": lambda t, r: (
        len(_paragraphs(t)) == int(r["num_paragraphs"])
    ),
    "length_constraints:nth_paragraph_first_word": _nth_paragraph,
    "keywords:existence": lambda t, r: all(_count(t, w) for w in r["keywords"]),
    "keywords:forbidden_words": lambda t, r: not any(_count(t, w) for w in r["forbidden_words"]),
    "keywords:frequency": lambda t, r: _compare(_count(t, r["keyword"]), r, "frequency"),
    "keywords:letter_frequency": lambda t, r: _compare(
        t.casefold().count(str(r["letter"]).casefold()), r, "let_frequency", "let_relation"
    ),
    "change_case:english_lowercase": lambda t, r: t == t.lower(),
    "change_case:english_capital": lambda t, r: t == t.upper(),
    "change_case:capital_word_frequency": lambda t, r: _compare(
        sum(w.isupper() for w in _words(t)), r, "capital_frequency", "capital_relation"
    ),
    "startend:end_checker": lambda t, r: (
        t.strip().strip('"').casefold().endswith(str(r["end_phrase"]).strip().casefold())
    ),
    "startend:quotation": lambda t, r: len(t.strip()) > 1 and t.strip()[0] == '"' == t.strip()[-1],
    "detectable_format:number_bullet_lists": lambda t, r: (
        len(re.findall(r"(?m)^\s*[*-](?!\*)\s*\S", t)) == int(r["num_bullets"])
    ),
    "detectable_format:number_highlighted_sections": _highlights,
    "detectable_format:title": lambda t, r: bool(re.search(r"<<[^\n<>]+>>", t)),
    "detectable_format:json_format": lambda t, r: json_in(t) is not None,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:constrained_response": lambda t, r: any(
        option in t.casefold() for option in _CONSTRAINED
    ),
    "detectable_content:postscript": lambda t, r: (
        str(r["postscript_marker"]).casefold().replace(" ", "") in t.casefold().replace(" ", "")
    ),
    "detectable_content:number_placeholders": lambda t, r: (
        len(re.findall(r"\[[^\]]+\]", t)) >= int(r["num_placeholders"])
    ),
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": lambda t, r: (
        t.strip().casefold().startswith(str(r["prompt_to_repeat"]).strip().casefold())
    ),
}
