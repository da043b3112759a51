"""What loss is allowed, stated before anything is compared.

Two bounds, both against the reference artefact of the same model: the mean KL divergence of the
next token in nats, and the share of prompts whose first token is the same. How much an artefact
may lose depends on how fine it claims to be: rounding to 4 bits moves the distribution, rounding
to 8 bits hardly does. An artefact of 16 bits that loses as much as a good one of 4 bits is broken,
though the same loss would be honest for Q4_0. So the default goes by bits per weight:

    8 and more   0.02 nats   0.75
    5 to 8       0.10 nats   0.60
    below 5      0.30 nats   0.50

The bounds were set on SmolLM2-135M, a very small and therefore sensitive model; what was measured
stands in docs/method/quality.md. A user who cares about less loss states a margin of their own.
"""

from __future__ import annotations

import msgspec

from seatrial.quality.precision import Precision

_STEPS = ((8.0, 0.02, 0.75), (5.0, 0.10, 0.60), (0.0, 0.30, 0.50))


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


def margin_for(precision: Precision | None) -> Margin:
    """The default margin for an artefact of this precision.

    None gets the strictest margin: what claims nothing must lose nothing.
    """
    if precision is None:
        _, kl, agreement = _STEPS[0]
        return Margin(
            kl_nats=kl, agreement=agreement, because="the strictest: its precision is not known"
        )
    kl, agreement = next((kl, share) for bits, kl, share in _STEPS if precision.bits >= bits)
    return Margin(
        kl_nats=kl,
        agreement=agreement,
        because=f"most layers are {precision.name}, {precision.bits:g} bits per weight",
    )
