"""Request-level batching (FasterTransformer, and every server before Orca).

A batch is formed when the engine is empty and runs until its longest answer is done. Who finishes
early still occupies a place and pads every step: nobody new gets in. Cache is reserved for the
longest possible answer; the simulator refuses this policy without a reservation.
"""

from __future__ import annotations

from seatrial.sim.policy import STATIC
from seatrial.sim.state import Batch, State


class RequestLevel:
    """Static batching."""

    name = "request-level"
    mode = STATIC

    def compose(self, state: State) -> Batch:
        """A new batch only when nothing runs; else everybody decodes, the finished pad."""
        if not state.running:
            batch = Batch()
            while state.waiting and state.fits(state.waiting[0]):
                sequence = state.admit()
                batch.prefill.append((sequence, sequence.to_compute))
            return batch
        decode = [sequence for sequence in state.running if not sequence.finished]
        return Batch(decode=decode, padding=len(state.running) - len(decode))
