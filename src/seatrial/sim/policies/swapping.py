"""Paged cache with preemption by swapping (vLLM's first scheduler, preemption mode ``swap``).

As prompts-first, but a preempted answer keeps its cache: its blocks are copied to the host's memory
and copied back before it goes on (Kwon et al., SOSP 2023, section 4.5). While one lies there,
nobody new is admitted. A copy delays the step in which it happens by ``swap_block_s`` a block;
where the host's memory is full, the cache is computed again. Step loop only.
"""

from __future__ import annotations

from seatrial.sim.policies.paged import PrefillFirst
from seatrial.sim.state import Batch, State


class SwappingPrefillFirst:
    """vLLM with prefill priority and swapping."""

    name = "prefill-first-swap"
    mode = -1
    swap = True

    def __init__(self) -> None:
        self._prompts_first = PrefillFirst()

    def compose(self, state: State) -> Batch:
        """Who lies on the host comes back first; then prompts, else a decode step."""
        while state.waiting and state.waiting[0].on_host and state.fits(state.waiting[0]):
            state.admit()
        if state.waiting and state.waiting[0].on_host:
            return Batch(decode=state.decoding())
        return self._prompts_first.compose(state)
