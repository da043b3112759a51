"""How long a step takes: the laws that the mock engine obeys.

``StepLaw`` is a continuous-batching engine: every step carries one decode token of each running
sequence and a share of the waiting prefill, and takes

    base + per_prefill_token * prefill tokens + per_sequence * decoding sequences
         + per_context_token * tokens held in the KV cache          (microseconds)

``FixedLaw`` gives every stream the same times whatever the load: a truth to hold a client against.
"""

from __future__ import annotations

import msgspec

from seatrial.core.units import NS_PER_MS, NS_PER_US


class StepLaw(msgspec.Struct, frozen=True, kw_only=True):
    """A continuous-batching engine.

    Attributes:
        base_us, per_prefill_token_us, per_sequence_us, per_context_token_us: the step's time.
        max_sequences: decoding and prefilling at once.
        batch_tokens: prefill and decode tokens in one step (chunked prefill).
        kv_blocks, block_tokens: size of the paged KV cache.
        prefix_cache: whether full blocks are kept and shared.
    """

    base_us: float = 4000.0
    per_prefill_token_us: float = 20.0
    per_sequence_us: float = 100.0
    per_context_token_us: float = 0.0
    max_sequences: int = 64
    batch_tokens: int = 2048
    kv_blocks: int = 8192
    block_tokens: int = 16
    prefix_cache: bool = True

    def step_ns(self, *, prefill_tokens: int, decoding: int, context_tokens: int) -> int:
        """Duration of one step in nanoseconds."""
        microseconds = (
            self.base_us
            + self.per_prefill_token_us * prefill_tokens
            + self.per_sequence_us * decoding
            + self.per_context_token_us * context_tokens
        )
        return round(microseconds * NS_PER_US)


class FixedLaw(msgspec.Struct, frozen=True, kw_only=True):
    """Every stream alike: first token after ``ttft_ms``, then one every ``itl_ms``."""

    ttft_ms: float = 300.0
    itl_ms: float = 20.0

    def token_ns(self, arrival_ns: int, index: int) -> int:
        """When token ``index`` (from 0) of a request is due, in nanoseconds."""
        return arrival_ns + round((self.ttft_ms + index * self.itl_ms) * NS_PER_MS)
