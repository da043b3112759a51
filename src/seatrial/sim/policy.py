"""What a scheduler may do, and the limits it works within: the one interface of all policies.

Each engine's scheduler is one small file in ``policies/``. A policy is asked once per step what
the next batch is. It sees the queue and the running sequences, their progress and the free KV
blocks; it does not see how long an answer will become, because no scheduler does.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from seatrial.sim.state import Batch, State

CHUNKED, PREFILL_FIRST, MIXED, STATIC = range(4)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's limits.

    Attributes:
        max_seqs: sequences that run at once (vLLM max_num_seqs, llama.cpp --parallel).
        token_budget: most tokens computed in one step (max_num_batched_tokens, n_batch).
        blocks: KV blocks in the pool; ``block_tokens``: tokens in one.
        reserve_tokens: cache reserved for a sequence at admission, whatever its length;
            0: paged, blocks are taken as the sequence grows.
        swap_block_s: seconds to move one block to the host or back; ``host_blocks`` fit there
            (only schedulers that swap use them).
    """

    max_seqs: int = 256
    token_budget: int = 2048
    blocks: int = 1 << 20
    block_tokens: int = 16
    reserve_tokens: int = 0
    swap_block_s: float = 0.0
    host_blocks: int = 1 << 20


class Policy(Protocol):
    """One scheduler."""

    @property
    def name(self) -> str:
        """Short name, as in ``seatrial whatif``."""

    @property
    def mode(self) -> int:
        """Which family of the fast loop this is: CHUNKED, PREFILL_FIRST, MIXED or STATIC."""

    def compose(self, state: State) -> Batch:
        """Admit, preempt, and say what the next step computes; an empty batch means wait."""
