"""Speculative decoding as an acceptance model.

A draft proposes g tokens, the model checks them in one step and keeps those up to the first that it
would not have said, and one more of its own. With each proposed token accepted independently with
probability a, a step yields on average

    E = (1 - a^(g + 1)) / (1 - a)     tokens      (Leviathan, Kalman and Matias, ICML 2023, eq. 1)

and costs g + 1 checked tokens per sequence and the draft's time. In expectation only: answers take
ceil(output / E) steps here, and no accepted run is longer than another.
"""

from __future__ import annotations

import msgspec
import numpy as np

from seatrial.core.errors import UsageError
from seatrial.fit.cost import StepCost
from seatrial.sim.load import Load


class Speculation(msgspec.Struct, frozen=True, kw_only=True):
    """Acceptance rate a in [0, 1), draft length g, seconds of drafting per step."""

    acceptance: float
    draft_tokens: int
    draft_s: float = 0.0

    @property
    def tokens_per_step(self) -> float:
        """E of the formula above."""
        a, g = self.acceptance, self.draft_tokens
        return (1 - a ** (g + 1)) / (1 - a)


def speculative(load: Load, cost: StepCost, how: Speculation) -> tuple[Load, StepCost]:
    """The load in steps and the cost of a step under speculation.

    Times of the simulated result are right; its "output" counts steps.

    Raises:
        UsageError: an acceptance outside [0, 1) or no draft.
    """
    if not 0 <= how.acceptance < 1 or how.draft_tokens < 1:
        raise UsageError(
            f"acceptance {how.acceptance:g} and {how.draft_tokens} draft tokens make no sense",
            remedy="acceptance in [0, 1), at least one draft token",
        )
    steps = np.ceil(load.output / how.tokens_per_step).astype(np.int64)
    dearer = StepCost(
        step=cost.step + how.draft_s,
        prefill=cost.prefill,
        decode=cost.decode * (how.draft_tokens + 1),
        context=cost.context,
        attention=cost.attention,
    )
    return Load(load.arrival, load.input, steps, load.cached), dearer
