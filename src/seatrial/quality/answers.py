"""What an engine answered to a fixed set of prompts, token by token, with log-probabilities.

An ``Answers`` stands alone: the reference is collected once and compared with every candidate.
A token is known by the hexadecimal of its bytes (or by its id where it has none, as special
tokens do), so that two engines that spell the same token differently still agree.
"""

from __future__ import annotations

import msgspec

from seatrial.core.provenance import Provenance
from seatrial.quality.precision import Precision

SCHEMA = "seatrial/answers/1"


class Position(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One generated token and the most probable tokens at its place.

    ``top``: (token, natural logarithm of its probability), most probable first.
    """

    token: str
    logprob: float
    top: list[tuple[str, float]]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one prompt; ``error`` is why there is none, else empty."""

    prompt: str
    positions: list[Position]
    error: str = ""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """All answers of one engine with one artefact.

    Attributes:
        candidate: what the caller calls it (candidate id); ``engine`` is the adapter's name.
        tokens: most tokens asked per prompt; ``top``: log-probabilities asked per token.
        prompts_sha256: hash of the prompt set; only answers to the same set are compared.
        precision: of the artefact, from its own files; None where nobody knows (an endpoint).
    """

    schema: str
    candidate: str
    engine: str
    model: str
    tokens: int
    top: int
    seed: int
    prompts_sha256: str
    answers: list[Answer]
    provenance: Provenance
    precision: Precision | None = None
