"""What loss is allowed, stated before anything is compared.

Two bounds, both against the reference artefact of the same model: the mean KL divergence of the
next token in nats, and the share of prompts whose first token is the same. How much an artefact
may lose depends on how many bits it claims: rounding to 4 bits moves the distribution, rounding to
8 bits hardly does. An artefact of 16 bits that loses as much as a good one of 4 bits is broken,
though the same loss would be honest for Q4_0. So the default goes by bits per weight:

    8 and more   0.02 nats   0.75      published for Llama-3-8B: q8_0 0.0014, q6_K 0.0055
    5 to 8       0.10 nats   0.60      q5_K_M 0.011, q4_K_M 0.031
    below 5      0.30 nats   0.50      q4_0 0.072; small models lose more

(published figures: llama.cpp tools/perplexity/README.md). The bounds were set on SmolLM2-135M, the
smallest and therefore most sensitive model at hand: docs/method/quality.md has the table.
"""

from __future__ import annotations

import re

import msgspec

_NAMED_BITS = {
    "f32": 32.0,
    "f16": 16.0,
    "fp16": 16.0,
    "bf16": 16.0,
    "hf-bf16": 16.0,
    "fp8": 8.0,
    "int8": 8.0,
    "w8a8": 8.0,
    "awq": 4.2,
    "gptq": 4.2,
    "mxfp4": 4.25,
    "nvfp4": 4.5,
    "q4_1": 5.0,
    "q8_0": 8.5,
}
_GGUF_DIGIT = re.compile(r"i?t?q(\d)")


class Margin(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of the quality check.

    Attributes:
        kl_nats: largest mean KL divergence that passes.
        agreement: smallest share of equal first tokens that passes.
        because: where the bounds come from, for people.
    """

    kl_nats: float
    agreement: float
    because: str


def bits_per_weight(quantization: str) -> float | None:
    """Bits per weight that a recipe's name claims (``Q4_K_M`` 4, ``F16`` 16); None if unknown."""
    name = quantization.strip().lower()
    if name in _NAMED_BITS:
        return _NAMED_BITS[name]
    match = _GGUF_DIGIT.match(name)
    return float(match[1]) if match else None


def margin_for(quantization: str | None) -> Margin:
    """The default margin for an artefact by the recipe it names.

    An unknown recipe gets the strictest margin: what claims nothing must lose nothing.
    """
    bits = bits_per_weight(quantization) if quantization else None
    if bits is None:
        return Margin(
            kl_nats=0.02,
            agreement=0.75,
            because=f"the strictest: bits per weight of {quantization or 'it'} are not known",
        )
    kl, agreement = (0.02, 0.75) if bits >= 8 else (0.10, 0.60) if bits >= 5 else (0.30, 0.50)
    return Margin(
        kl_nats=kl, agreement=agreement, because=f"{quantization}: {bits:g} bits per weight"
    )
