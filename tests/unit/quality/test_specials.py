"""Special tokens under one name."""

from __future__ import annotations

from seatrial.quality.answers import Position
from seatrial.quality.divergence import kl_bound
from seatrial.quality.specials import renamed

END = b"<|im_end|>".hex()
TEXTS = {2: "<|im_end|>"}


def test_the_end_of_an_answer_is_the_same_token_in_both_engines() -> None:
    number = Position(token="id:2", logprob=-0.25, top=[("id:2", -0.25), ("20", -3.0)])
    text = Position(token=END, logprob=-0.25, top=[(END, -0.25), ("20", -3.0)])
    assert kl_bound(number.top, text.top) > 1.0
    (same,) = renamed([number], TEXTS.get)
    assert same == text
    assert kl_bound(same.top, text.top) == 0.0


def test_what_has_no_text_keeps_its_number() -> None:
    odd = Position(token="id:7", logprob=-1.0, top=[("id:7", -1.0), ("id:None", -2.0)])
    assert renamed([odd], TEXTS.get) == [odd]
