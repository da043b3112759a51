"""Iteration-level scheduling, first come first served (Orca; Yu et al., OSDI 2022).

After every step finished sequences leave and waiting ones join; a prompt is computed whole, in the
same step in which the others decode. Orca itself reserves cache for the longest possible answer
(``reserve_tokens``).
"""

from __future__ import annotations

from seatrial.sim.policy import MIXED
from seatrial.sim.state import Batch, State


class IterationLevel:
    """Orca."""

    name = "iteration-level"
    mode = MIXED

    def compose(self, state: State) -> Batch:
        """Everybody decodes; whoever fits joins with the whole prompt."""
        before = state.preemptions
        batch = Batch(decode=state.decoding())
        while state.waiting and state.preemptions == before and state.fits(state.waiting[0]):
            sequence = state.admit()
            batch.prefill.append((sequence, sequence.to_compute))
        return batch
