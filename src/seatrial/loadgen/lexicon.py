"""Words of one token each, and what the chat template adds: found by asking the engine itself.

A prompt of exactly n tokens is n such words less the template's share. The engine is asked either
through its tokenize route, or, where it has none, by the ``usage.prompt_tokens`` of requests for
one output token. Nothing is assumed about the tokenizer; what is found is verified on a text of
many words before it is used.

A server that does not count, or counts in a way that does not add up, can still be loaded: then a
prompt is so many words, its length in tokens is an estimate, and everything that rests on it says
so (``Lexicon.exact`` is False).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from seatrial.core.errors import EngineError

# Frequent English words: one token each, with the space before them, in nearly every vocabulary.
_TEXT = """
 time year people way day man thing woman life child world school state family student group
 country problem hand part place case week company system program question work government number
 night point home water room mother area money story fact month lot right study book eye job word
 business issue side kind head house service friend father power hour game line end member law car
 city community name president team minute idea body information back parent face others level
 office door health person art war history party result change morning reason research girl guy
 moment air teacher force education foot boy age policy music market sense nation plan college
 interest death experience effect use class control field development role effort rate heart drug
 show leader light voice wife police mind price report decision son view relationship town road arm
 difference value building action season society tax director position player record paper space
 ground form event matter center couple site project star table court American oil situation cost
 industry figure street image phone data picture practice piece land product doctor wall worker
 news test movie north love support technology step baby computer type attention film tree source
 organization hair look century evidence window culture chance brother energy period course summer
 hundred available plant likely opportunity term letter condition choice single rule daughter south
 floor campaign material population call economy hospital church risk fire future bank agreement
 animal west sport board security blood language base response nothing subject army resource
 operation argument sister heat page garden stage river fish bird horse dog cat stone glass metal
 wood paper green blue red white black small large long short high low early late hard soft fast
 slow young old new good bad great little big open close clear full empty dark warm cold dry strong
 free true false real simple special recent major public private social local national human final
 main common poor natural similar central federal general certain current foreign financial
"""
_COMMON = list(dict.fromkeys(_TEXT.split()))
_FIRST = "Say"
_MIN_WORDS = 64
_AT_ONCE = 96  # words asked about at once: fits the smallest context that is served
_MOST_PER_WORD = 2.0  # tokens a word in the mean; above it too few words are one token
_LIKELY = (0.5, 12.0)  # tokens a word that a tokenizer may have; beyond, counts are no counts
ESTIMATE = "estimate"


class Lexicon(msgspec.Struct, frozen=True, kw_only=True):
    """What prompts are made of.

    Attributes:
        first: the word every prompt begins with, without a space before it.
        words: with a space before each; one token each.
        overhead: tokens of a prompt of w words less w (template, BOS, role marks).
        per_turn: tokens that one more turn (answer and question) adds beyond its words.
        source: how it was found: "tokenize", "usage", or "estimate".
        verified: on a text of this many words the count was exact; 0 for an estimate.
        tokens_per_word: 1 where prompts are exact.
    """

    first: str
    words: tuple[str, ...]
    overhead: int
    per_turn: int
    source: str
    verified: int
    tokens_per_word: float = 1.0

    @property
    def exact(self) -> bool:
        """Whether prompts have exactly the planned number of tokens."""
        return self.source != ESTIMATE


class NotExact(EngineError):
    """The server's token counts do not allow prompts of exact length."""


CountTokens = Callable[[str], int]
CountPrompt = Callable[[str], int]
CountTurn = Callable[[str, str], int]


def find(
    count_prompt: CountPrompt,
    *,
    count_text: CountTokens | None = None,
    count_turn: CountTurn | None = None,
    where: str = "",
) -> Lexicon:
    """Find the words and the overhead.

    Args:
        count_prompt: ``usage.prompt_tokens`` of a real request whose user message is the text.
        count_turn: the same for a chat of three messages: the text, the answer, the text again.
        count_text: number of tokens of a text by the engine's tokenize route, if it has one.
        where: the endpoint, for errors.

    Raises:
        NotExact: the server does not count, its counts do not add up, or fewer than 64 words of
            one token were found.
    """
    first = _FIRST
    base = count_prompt(first)

    def by_usage(text: str) -> int:
        return count_prompt(first + text) - base

    def by_tokenize(text: str) -> int:
        assert count_text is not None
        return count_text(first + text) - count_text(first)

    count = by_usage if count_text is None else by_tokenize
    spaced = [f" {word}" for word in _COMMON]
    _check_additive(count, spaced, where)
    words = [
        word
        for at in range(0, len(spaced), _AT_ONCE)
        for word in _single(spaced[at : at + _AT_ONCE], count)
    ]
    if len(words) < _MIN_WORDS:
        raise NotExact(
            f"only {len(words)} words of one token were found; exact prompts cannot be made",
            where=where,
            remedy="give a trace with its own bodies, or check that usage.prompt_tokens is right",
        )
    probe = "".join(words[(7 * i) % len(words)] for i in range(_AT_ONCE))
    got = count_prompt(first + probe)
    overhead = got - _AT_ONCE
    if abs(overhead - base) > 1:
        raise NotExact(
            f"a prompt of {_AT_ONCE} words counts {got} tokens, one word {base}",
            where=where,
            remedy="the server's token counts are not additive; give a trace with bodies",
        )
    return Lexicon(
        first=first,
        words=tuple(words),
        overhead=base - 1,
        per_turn=0 if count_turn is None else max(0, count_turn(first, "Yes") - base - 2),
        source="usage" if count_text is None else "tokenize",
        verified=_AT_ONCE,
    )


def _check_additive(count: Callable[[str], int], words: Sequence[str], where: str) -> None:
    """Refuse what cannot be exact by two requests, before hundreds are sent.

    Raises:
        NotExact: twice the words are not about twice the tokens, or words are many tokens each.
    """
    half = _AT_ONCE // 2
    once, twice = count("".join(words[:half])), count("".join(words[:_AT_ONCE]))
    if not (0.5 * half <= once <= _MOST_PER_WORD * half and abs(twice - 2 * once) <= 0.2 * twice):
        raise NotExact(
            f"words do not count as one token each: {half} count {once}, {_AT_ONCE} count {twice}",
            where=where,
            unchanged="no load was sent",
            remedy="give a trace with its own bodies, or check that usage.prompt_tokens is right",
        )


def estimate(count_prompt: CountPrompt | None) -> Lexicon:
    """Words without exact counts: prompts of about so many tokens.

    Args:
        count_prompt: as for ``find``; None where the server does not count. The tokens a word
            has are taken from two prompts if they are a tokenizer's; else a word is a token and
            the template is taken for nothing.
    """
    spaced = tuple(f" {word}" for word in _COMMON)
    per_word, overhead = 1.0, 0
    if count_prompt is not None:
        half = _AT_ONCE // 2
        short = count_prompt(_FIRST + "".join(spaced[: half - 1]))
        long = count_prompt(_FIRST + "".join(spaced[: _AT_ONCE - 1]))
        slope = (long - short) / half
        if _LIKELY[0] <= slope <= _LIKELY[1]:
            per_word, overhead = slope, max(0, round(short - half * slope))
    return Lexicon(
        first=_FIRST,
        words=spaced,
        overhead=overhead,
        per_turn=0,
        source=ESTIMATE,
        verified=0,
        tokens_per_word=per_word,
    )


def _single(words: Sequence[str], count: Callable[[str], int]) -> list[str]:
    """Those words that are one token each: whole groups at a time, halves where they are not."""
    if not words:
        return []
    if count("".join(words)) == len(words):
        return list(words)
    if len(words) == 1:
        return []
    half = len(words) // 2
    return _single(words[:half], count) + _single(words[half:], count)
