"""The mock engine's tokenizer and chat template: small, total, and the same everywhere.

A token is a word with the space before it, up to three digits, one other character, or a run of
white space. Ids are CRC-32 values folded into the vocabulary: equal text, equal ids.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from zlib import crc32

VOCABULARY = 50_000
_SPECIAL = 16
_TOKEN = re.compile(r" ?[^\W\d_]+| ?\d{1,3}| ?[^\s\w]| ?_|\s+")
BOS, START, END, ASSISTANT = 1, 2, 3, 4

WORDS = tuple(f" w{i:03d}"[:2] + chr(97 + i % 26) + chr(97 + i // 26 % 26) for i in range(676))


def tokenize(text: str) -> list[int]:
    """Token ids of a text, without special tokens."""
    return [
        _SPECIAL + crc32(piece.encode("utf-8", "surrogatepass")) % (VOCABULARY - _SPECIAL)
        for piece in _TOKEN.findall(text)
    ]


def render_chat(messages: Sequence[Any]) -> list[int]:
    """Token ids of a chat after the template: three per message, one BOS, two at the end."""
    ids = [BOS]
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else ""
        role = message.get("role") if isinstance(message, dict) else "user"
        if isinstance(content, list):
            content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
        ids += [START, _SPECIAL + len(str(role)), *tokenize(str(content or "")), END]
    return [*ids, START, ASSISTANT]


def word(index: int) -> str:
    """The text of output token ``index``: one token each."""
    return WORDS[index % len(WORDS)]
