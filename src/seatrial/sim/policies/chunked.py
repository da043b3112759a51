"""Chunked prefill under a token budget (Sarathi-Serve, OSDI 2024; vLLM v1; llama.cpp).

Every running answer decodes in every step; what is left of the budget goes to prompts, in order of
arrival and in pieces. llama.cpp's server does the same with ``n_batch`` as the budget and a slot's
share of the context as the reservation.
"""

from __future__ import annotations

from seatrial.sim.policy import CHUNKED
from seatrial.sim.state import Batch, State


class Chunked:
    """Sarathi-Serve and vLLM v1."""

    name = "chunked-prefill"
    mode = CHUNKED

    def compose(self, state: State) -> Batch:
        """Decode all, then fill the budget with prompt tokens."""
        before = state.preemptions
        batch = Batch(decode=state.decoding())
        budget = state.limits.token_budget - len(batch.decode)
        for sequence in state.running:
            if budget > 0 and not sequence.decoding:
                chunk = min(sequence.to_compute, budget)
                batch.prefill.append((sequence, chunk))
                budget -= chunk
        while (
            budget > 0
            and state.waiting
            and state.preemptions == before
            and state.fits(state.waiting[0])
        ):
            sequence = state.admit()
            chunk = min(sequence.to_compute, budget)
            batch.prefill.append((sequence, chunk))
            budget -= chunk
        return batch
