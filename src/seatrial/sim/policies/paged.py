"""Paged cache, prompts first (vLLM's first scheduler; Kwon et al., SOSP 2023).

While a prompt waits and fits, the step computes prompts only and every running answer stands
still: the generation stall that Sarathi removes. Without room for one more token the youngest
sequence is preempted and computed again later.
"""

from __future__ import annotations

from seatrial.sim.policy import PREFILL_FIRST
from seatrial.sim.state import Batch, State


class PrefillFirst:
    """vLLM with prefill priority."""

    name = "prefill-first"
    mode = PREFILL_FIRST

    def compose(self, state: State) -> Batch:
        """Whole prompts up to the budget (the first one in any case), or a decode step."""
        batch = Batch()
        budget = state.limits.token_budget
        while state.waiting and state.fits(state.waiting[0]):
            if batch.prefill and state.waiting[0].to_compute > budget:
                break
            sequence = state.admit()
            batch.prefill.append((sequence, sequence.to_compute))
            budget -= sequence.to_compute
        return batch if batch.prefill else Batch(decode=state.decoding())
