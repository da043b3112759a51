"""How long one step of the engine takes, from what is in its batch.

    t = step + prefill * P + decode * N + context * C + attention * A        in seconds

P prompt tokens computed in the step; N sequences that decode one token; C cache tokens those
sequences read, own token included; A = sum over prompts of chunk * (tokens before it + chunk / 2),
the pairs that prompt attention looks at. Every term is a lower-level cost with a meaning: step is
reading the weights once and the engine's overhead, prefill and decode the matrix work per token,
context the reading of the KV cache. Because the law is linear, k identical decode steps have a
closed form, on which the fast simulator rests:

    T(k) = k * t(1) + context * N * k * (k - 1) / 2
"""

from __future__ import annotations

import math

import msgspec

TERMS = ("step", "prefill", "decode", "context", "attention")


class StepCost(msgspec.Struct, frozen=True, kw_only=True):
    """The five coefficients in seconds: per step, per prompt token, per decoding sequence, per
    cache token read, per pair of prompt attention. None is negative."""

    step: float
    prefill: float
    decode: float
    context: float = 0.0
    attention: float = 0.0

    def seconds(
        self,
        *,
        prefill: float = 0,
        decode: float = 0,
        context: float = 0,
        attention: float = 0,
    ) -> float:
        """Duration of one step with this batch."""
        return (
            self.step
            + self.prefill * prefill
            + self.decode * decode
            + self.context * context
            + self.attention * attention
        )

    def decode_run(self, decode: int, context: float, steps: int) -> float:
        """Duration of ``steps`` decode steps in a row; ``context`` is C of the first of them."""
        first = self.seconds(decode=decode, context=context)
        return steps * first + self.context * decode * steps * (steps - 1) / 2

    def steps_until(self, decode: int, context: float, seconds: float) -> int:
        """Fewest decode steps that last at least ``seconds`` (at least 1)."""
        first = self.seconds(decode=decode, context=context)
        growth = self.context * decode
        if growth > 0:
            b = first - growth / 2
            guess = (math.sqrt(b * b + 2 * growth * max(seconds, 0.0)) - b) / growth
        else:
            guess = seconds / first
        steps = max(1, math.ceil(guess))
        while steps > 1 and self.decode_run(decode, context, steps - 1) >= seconds:
            steps -= 1
        while self.decode_run(decode, context, steps) < seconds:
            steps += 1
        return steps


def scaled(cost: StepCost, factor: float) -> StepCost:
    """Every step ``factor`` times as long."""
    return StepCost(**{name: getattr(cost, name) * factor for name in TERMS})
