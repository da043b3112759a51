"""Special tokens under one name, so that the end of an answer is no difference between engines.

llama.cpp reports a special token (end of turn, beginning of text) with empty bytes and its number;
vLLM and SGLang report its text, ``<|im_end|>``. Left as they come, two engines that are equally
sure to stop look nats apart. So a number is turned into the text that the engine itself gives for
it; where it has no way to tell, the number stays.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from seatrial.quality.answers import Position

PREFIX = "id:"
TextOf = Callable[[int], str | None]


def renamed(positions: list[Position], text_of: TextOf) -> list[Position]:
    """The positions with every ``id:N`` replaced by the hex of the token's text."""
    names: dict[str, str] = {}

    def name(token: str) -> str:
        if not token.startswith(PREFIX):
            return token
        if token not in names:
            number = token.removeprefix(PREFIX)
            text = text_of(int(number)) if number.isdigit() else None
            names[token] = text.encode("utf-8", errors="replace").hex() if text else token
        return names[token]

    return [
        msgspec.structs.replace(
            place, token=name(place.token), top=[(name(token), value) for token, value in place.top]
        )
        for place in positions
    ]
