"""Prompts of exactly n tokens, deterministic, distinct, sharing what the trace shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.errors import EngineError
from seatrial.loadgen.lexicon import NotExact, estimate, find
from seatrial.loadgen.prompts import PromptMaker
from seatrial.mock.kv import block_hashes
from seatrial.mock.tokens import render_chat, tokenize


def count_prompt(text: str) -> int:
    return len(render_chat([{"role": "user", "content": text}]))


def ids(text: str) -> list[int]:
    return render_chat([{"role": "user", "content": text}])


LEXICON = find(count_prompt, count_text=lambda text: len(tokenize(text)))


def test_words_and_overhead_are_found_by_either_way():
    by_usage = find(count_prompt)
    assert by_usage.words == LEXICON.words
    assert by_usage.overhead == LEXICON.overhead == 6
    assert (by_usage.source, LEXICON.source) == ("usage", "tokenize")


def test_words_that_are_two_tokens_are_left_out():
    def odd(text: str) -> int:
        return count_prompt(text) + text.count(" time") + 2 * text.count(" school")

    found = find(odd)
    assert " time" not in found.words
    assert " school" not in found.words
    assert len(found.words) == len(LEXICON.words) - 2


def test_a_tokenizer_without_such_words_is_refused():
    with pytest.raises(EngineError, match="one token"):
        find(lambda text: len(text))


@settings(max_examples=100, deadline=None)
@given(st.integers(7, 3000), st.integers(0, 10**6), st.integers(0, 2**62))
def test_exactly_the_asked_number_of_tokens(tokens, index, seed):
    assert count_prompt(PromptMaker(LEXICON, seed).prompt(index, tokens)) == tokens


def test_the_same_seed_gives_the_same_text_and_another_seed_another():
    texts = [PromptMaker(LEXICON, seed).prompt(3, 200) for seed in (1, 1, 2)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


@pytest.mark.parametrize("few", [1, 7, 32])
def test_few_words_are_the_first_of_many(few):
    """They are drawn another way."""
    maker = PromptMaker(LEXICON, 3)
    for index in range(50):
        many = maker.request_words(index, 40).split(" ")
        assert maker.request_words(index, few).split(" ") == many[: few + 1]


def test_no_two_prompts_share_a_prefix_by_accident():
    maker = PromptMaker(LEXICON, 5)
    starts = {tuple(ids(maker.prompt(i, 64))[:16]) for i in range(3000)}
    assert len(starts) == 3000


def test_equal_blocks_are_equal_prefixes_and_nothing_more():
    maker, size = PromptMaker(LEXICON, 5), 16
    blocks = [np.array(b, np.int64) for b in ([7, 8, 9], [7, 8, 10], [7], [11, 12])]
    hashes = [block_hashes(ids(maker.prompt(i, 56, b, size)), size) for i, b in enumerate(blocks)]
    shared = [
        [sum(a == b for a, b in zip(one, two, strict=False)) for two in hashes] for one in hashes
    ]
    assert shared[0][1] == 2
    assert shared[0][2] == shared[1][2] == 1
    assert shared[0][3] == 0
    assert all(count_prompt(maker.prompt(i, 56, b, size)) == 56 for i, b in enumerate(blocks))


@pytest.mark.parametrize("constant", [0, 1, 7])
def test_counts_that_do_not_add_up_are_refused_after_a_few_requests(constant):
    asked = []
    with pytest.raises(NotExact, match="one token"):
        find(lambda text: asked.append(text) or constant)
    assert len(asked) <= 4


def test_an_estimate_takes_the_tokens_a_word_has_from_two_prompts():
    found = estimate(lambda text: 20 + 3 * (1 + text.count(" ")))
    assert (found.exact, found.verified) == (False, 0)
    assert found.tokens_per_word == pytest.approx(3.0)
    assert found.overhead == 20
    text = PromptMaker(found, 1).prompt(0, 320)
    assert 1 + text.count(" ") == 100


@pytest.mark.parametrize("count", [None, lambda _: 1, lambda text: 10**6 * len(text)])
def test_without_counts_a_word_is_taken_for_a_token(count):
    found = estimate(count)
    assert (found.tokens_per_word, found.overhead) == (1.0, 0)
    assert 1 + PromptMaker(found, 1).prompt(0, 64).count(" ") == 64
