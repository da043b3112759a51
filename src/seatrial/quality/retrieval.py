"""Does a fact survive a long context? Tasks made to measure.

A plain text of harmless sentences of the length asked for, with one sentence that gives a number
at a given depth, and a question for that number. Text and numbers are drawn from the seed, so that
no two tasks share a prefix and nothing can have been learnt. Lengths are in words; a token is
about three quarters of a word, and what an engine makes of it shows in its usage.
"""

from __future__ import annotations

from seatrial.core.errors import UsageError
from seatrial.core.seeds import stream
from seatrial.quality.task import Item

DEPTHS = (0.1, 0.5, 0.9)
_WHO = (
    "The baker",
    "A sailor",
    "My neighbour",
    "The teacher",
    "An old friend",
    "The gardener",
    "Our guide",
    "The postman",
)
_DID = (
    "walked to",
    "painted",
    "looked at",
    "wrote about",
    "waited near",
    "talked about",
    "repaired",
    "remembered",
)
_WHAT = (
    "the small bridge",
    "a wooden boat",
    "the market square",
    "the green hill",
    "an empty house",
    "the town library",
    "a stone wall",
    "the railway station",
)
_WHEN = (
    "on Monday",
    "before breakfast",
    "in the rain",
    "last summer",
    "after work",
    "at noon",
    "during the holidays",
    "late in the evening",
)


def retrieval_items(words: int, *, n: int = 12, seed: int = 1) -> list[Item]:
    """``n`` tasks of about ``words`` words, the number at depths 0.1, 0.5 and 0.9 in turn.

    Raises:
        UsageError: a length below 30 or above 200,000 words.
    """
    if not 30 <= words <= 200_000:
        raise UsageError(
            f"retrieval over {words} words",
            remedy="take between 30 and 200000 words, e.g. retrieval:1500",
        )
    return [_item(words, number, seed) for number in range(n)]


def _item(words: int, number: int, seed: int) -> Item:
    rng = stream(seed, "retrieval", words, number)
    code = int(rng.integers(10_000, 100_000))
    depth = DEPTHS[number % len(DEPTHS)]
    sentences: list[str] = []
    count = 0
    while count < words:
        parts = [options[int(rng.integers(len(options)))] for options in (_WHO, _DID, _WHAT, _WHEN)]
        sentences.append(" ".join(parts) + ".")
        count += len(sentences[-1].split())
    sentences.insert(int(depth * len(sentences)), f"The number of the harbour is {code}.")
    return Item(
        id=f"retrieval-{words}-{number}",
        suite=f"retrieval-{words}",
        prompt=" ".join(sentences) + "\n\nWhat is the number of the harbour? "
        "Answer with the number only.",
        scorer="numeric",
        expected=str(code),
        tokens=16,
    )
