"""The engine's steps, seen through the times of the tokens that left it.

Between two tokens of one answer lies one step of the engine (or several, when other prompts took
whole steps in between: the durations still add up, because the law is linear). What was in it is
known from everybody's times: N answers in progress, C their cache, and the prompts whose first
token came at the end of it. A prompt's tokens are spread evenly over the time from when its
computing can have begun (not before the step that ran when it came has ended) until its first
token.

A request that found the engine idle gives one step more: sent to first token.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from seatrial.fit.observe import Floats, Observed

_SAME_STEP_S = 1e-3


@dataclass(frozen=True, slots=True)
class StepTable:
    """Rows of the regression: features (P, N, C, A; count of steps) and duration in seconds.

    ``weight`` is 1 / N for an interval that N answers saw at once.
    """

    prefill: Floats
    decode: Floats
    context: Floats
    attention: Floats
    steps: Floats
    seconds: Floats
    weight: Floats

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.seconds.size)

    def design(self) -> Floats:
        """(rows, 5) in the order of ``fit.cost.TERMS``."""
        columns = (self.steps, self.prefill, self.decode, self.context, self.attention)
        return np.stack(columns, axis=1)


def step_table(cell: Observed, *, max_seqs: int) -> StepTable:
    """All steps of one cell (of a long one: until its token times end); ``max_seqs`` places are
    served at once."""
    cell, until = _with_token_times(cell)
    began = prefill_began(cell, max_seqs)
    intervals = sorted(
        (start, end)
        for events in cell.events
        for start, end in pairwise(events)
        if start < end <= until
    )
    start = np.array([item[0] for item in intervals], dtype=np.float64)
    end = np.array([item[1] for item in intervals], dtype=np.float64)
    running, context = _decoding(cell, start, end)
    prefill, attention = _prompts(cell, began, start, end)
    idle = _idle(cell)
    todo = (cell.input - cell.cached)[idle].astype(np.float64)
    zero, one = np.zeros(idle.size), np.ones(idle.size)
    pairs = todo * (cell.cached[idle] + todo / 2)
    return StepTable(
        prefill=np.concatenate([prefill, todo]),
        decode=np.concatenate([running, zero]),
        context=np.concatenate([context, zero]),
        attention=np.concatenate([attention, pairs]),
        steps=np.concatenate([np.ones(start.size), one]),
        seconds=np.concatenate([end - start, (cell.first - cell.sent)[idle]]),
        weight=np.concatenate([1 / np.maximum(running, 1), one]),
    )


def _with_token_times(cell: Observed) -> tuple[Observed, float]:
    """The requests whose token times are known, and until when nobody else is there."""
    known = len(cell.events)
    if known == cell.n:
        return cell, float("inf")
    columns = ("arrival", "sent", "first", "last", "input", "output", "cached")
    part = replace(cell, **{name: getattr(cell, name)[:known] for name in columns})
    return part, float(cell.sent[known:].min())


def prefill_began(cell: Observed, max_seqs: int) -> Floats:
    """When the computing of each prompt can have begun.

    Sent, or when a place became free; and who comes while a step runs waits for its end, which is
    the next token of anybody. (Without that, prompts seem to cost what they waited: on llama.cpp
    a fifth too much per token.)
    """
    began = cell.sent.copy()
    ends_of_steps = np.sort(np.concatenate([*cell.events, np.empty(0)]))
    for i in range(cell.n):
        before = np.flatnonzero(cell.first < cell.first[i])
        open_ = before[cell.last[before] > cell.sent[i]]
        if open_.size >= max_seqs:
            ends = np.sort(cell.last[open_])
            free = ends[open_.size - max_seqs]
            began[i] = min(max(free, cell.sent[i]), cell.first[i])
        busy = (cell.sent < began[i]) & (cell.last > began[i])
        busy[i] = False
        if busy.any():
            at = np.searchsorted(ends_of_steps, began[i])
            if at < ends_of_steps.size and ends_of_steps[at] < cell.first[i] - _SAME_STEP_S:
                began[i] = ends_of_steps[at]
    return began


def _decoding(cell: Observed, start: Floats, end: Floats) -> tuple[Floats, Floats]:
    running, context = np.zeros(start.size), np.zeros(start.size)
    for i in range(cell.n):
        low = np.searchsorted(start, cell.first[i] - _SAME_STEP_S)
        own = slice(low, np.searchsorted(start, cell.last[i] + _SAME_STEP_S))
        inside = cell.last[i] >= end[own] - _SAME_STEP_S
        done = np.searchsorted(cell.events[i], start[own] + _SAME_STEP_S)
        share = cell.output[i] / max(cell.events[i].size, 1)  # an event may carry several tokens
        running[own] += inside
        context[own] += inside * (cell.input[i] + done * share)
    return running, context


def _prompts(cell: Observed, began: Floats, start: Floats, end: Floats) -> tuple[Floats, Floats]:
    prefill, attention = np.zeros(start.size), np.zeros(start.size)
    longest = float((end - start).max()) if start.size else 0.0
    for i in range(cell.n):
        low = np.searchsorted(start, began[i] - longest)
        own = slice(low, np.searchsorted(start, cell.first[i]))
        span = max(cell.first[i] - began[i], 1e-9)
        overlap = np.minimum(end[own], cell.first[i]) - np.maximum(start[own], began[i])
        share = np.clip(overlap / span, 0, 1)
        todo = float(cell.input[i] - cell.cached[i])
        prefill[own] += share * todo
        attention[own] += share * todo * (cell.cached[i] + todo / 2)
    return prefill, attention


def _idle(cell: Observed) -> np.ndarray:
    """Requests that found nobody there, and nobody came until their first token."""
    alone = []
    for i in range(cell.n):
        others = np.arange(cell.n) != i
        busy = (cell.sent < cell.first[i]) & (cell.last > cell.sent[i]) & others
        if not busy.any():
            alone.append(i)
    return np.array(alone, dtype=np.int64)
