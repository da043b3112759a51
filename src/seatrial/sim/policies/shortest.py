"""Chunked prefill with the shortest waiting prompt first.

Prompts' lengths are known, answers' are not. Short requests no longer wait behind long ones; long
ones may wait for ever under load, so a sequence that was preempted keeps its place at the head.
Only the step loop runs it (the fast loop keeps the order of arrival).
"""

from __future__ import annotations

from seatrial.sim.policies.chunked import Chunked
from seatrial.sim.state import Batch, State


class ShortestFirst(Chunked):
    """Shortest prompt first."""

    name = "shortest-first"
    mode = -1

    def compose(self, state: State) -> Batch:
        """Order the queue, then as chunked prefill."""
        ordered = sorted(state.waiting, key=lambda s: (s.preempted == 0, s.to_compute, s.number))
        state.waiting.clear()
        state.waiting.extend(ordered)
        return super().compose(state)
