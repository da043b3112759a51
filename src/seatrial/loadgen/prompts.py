"""Prompts of exactly the traced number of tokens, the same for the same seed.

Word k of a prompt is a hash of (key, k): one key per request, or one per prefix block where the
trace has blocks. Equal blocks so have equal text, and nothing else does: every request starts
with words drawn from its own key, and a cell's seed enters every key, so that no prompt repeats
by accident within a cell or between cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seatrial.core.seeds import derive_seed
from seatrial.loadgen.lexicon import Lexicon
from seatrial.trace.table import Blocks

_GOLDEN, _M1, _M2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ALL = (1 << 64) - 1
_FEW = 32  # words


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014): a bijection of 64 bits."""
    mixed = values.copy()
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(_M1)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(_M2)
    mixed ^= mixed >> np.uint64(31)
    return mixed


class PromptMaker:
    """Makes the text of prompts from a lexicon and a seed."""

    def __init__(self, lexicon: Lexicon, seed: int) -> None:
        self.lexicon = lexicon
        self._words = np.array(lexicon.words, dtype=object)
        self._request_key = derive_seed(seed, "prompt")
        self._block_key = derive_seed(seed, "block")

    def words_for(self, input_tokens: int, *, used: int = 0) -> int:
        """How many words make a prompt of so many tokens; at least one."""
        return self.words_of(input_tokens - self.lexicon.overhead - used)

    def words_of(self, tokens: int) -> int:
        """How many words make so many tokens of text; at least one."""
        each = self.lexicon.tokens_per_word
        return max(1, tokens if each == 1.0 else round(tokens / each))

    def request_words(self, index: int, count: int, turn: int = 0) -> str:
        """``count`` words of one request (without the first word)."""
        return self._draw(self._request_key, index * 4096 + turn, count)

    def block_words(self, block: int, count: int) -> str:
        """``count`` words that belong to one block hash."""
        return self._draw(self._block_key, block, count)

    def _draw(self, stream: int, key: int, count: int) -> str:
        start = derive_seed(stream, key)
        if count <= _FEW:
            return self._draw_few(start, count)
        with np.errstate(over="ignore"):
            steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(start)
            places = _mix(steps) % np.uint64(len(self._words))
        return "".join(self._words[places])

    def _draw_few(self, start: int, count: int) -> str:
        """The same words without numpy, whose calls cost more than so few of them."""
        words = self.lexicon.words
        drawn = []
        for _ in range(count):
            start = (start + _GOLDEN) & _ALL
            mixed = start ^ (start >> 30)
            mixed = (mixed * _M1) & _ALL
            mixed ^= mixed >> 27
            mixed = (mixed * _M2) & _ALL
            drawn.append(words[(mixed ^ (mixed >> 31)) % len(words)])
        return "".join(drawn)

    def prompt(self, index: int, input_tokens: int, blocks: NDArray[np.int64] | None = None,
               block_tokens: int = 0) -> str:  # fmt: skip
        """The user message of one request: exactly ``input_tokens`` after the template (about,
        where the lexicon is an estimate).

        A request shorter than template and one word gets one word. The text of its blocks comes
        first; the last one is cut where the prompt ends.
        """
        count = self.words_for(input_tokens) - 1
        parts = [self.lexicon.first]
        if blocks is not None and len(blocks):
            # The first word is part of the first block. What the template puts in front is
            # shared by all, so k equal blocks of text are at least k equal blocks of tokens.
            room = self.words_of(block_tokens) - 1
            for block in blocks:
                share = min(room, count)
                if share <= 0:
                    break
                parts.append(self.block_words(int(block), share))
                count -= share
                room = self.words_of(block_tokens)
        if count > 0:
            parts.append(self.request_words(index, count))
        return "".join(parts)


def block_slice(blocks: Blocks | None, index: int) -> NDArray[np.int64] | None:
    """The block hashes of one request, None where the trace has none."""
    if blocks is None:
        return None
    return blocks.hashes[blocks.offsets[index] : blocks.offsets[index + 1]]
