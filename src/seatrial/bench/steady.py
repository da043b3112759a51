"""The steady part of a run: found from the requests in flight, reported beside the whole.

A whole-run rate contains the filling and the emptying of the pipeline; with long answers that is
most of a short run. The window is where the number in flight is at least 90 per cent of its
median over the time in which anything was in flight. Nothing is dropped: whole-run figures stand
beside it, and slow requests at the end stay in every latency.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.loadgen.records import Records

LEVEL = 0.9
SHORT = 3.0


class Steady(msgspec.Struct, frozen=True, kw_only=True):
    """The window and what was made in it.

    Attributes:
        start_s, stop_s: from the first scheduled time.
        in_flight: median number of requests open at once.
        output_tokens_per_s: in the window; of whole requests, tokens counted where they came.
        request_times: length of the window in mean request times.
        short: the window is shorter than three mean request times: its rate says little.
    """

    start_s: float
    stop_s: float
    in_flight: float
    output_tokens_per_s: float | None
    request_times: float
    short: bool


def steady(records: Records) -> Steady | None:
    """The steady window; None when fewer than two requests were sent."""
    sent = records.ints["sent_ns"]
    there = (sent >= 0) & (records.ints["done_ns"] >= sent)
    if there.sum() < 2:
        return None
    begin, end = sent[there], records.ints["done_ns"][there]
    times, level = _levels(begin, end)
    lasting = np.diff(times)
    median = _weighted_median(level[:-1], lasting)
    high = np.flatnonzero(level[:-1] >= LEVEL * median)
    first, last = int(times[high[0]]), int(times[high[-1] + 1])
    mean_s = float((end - begin).mean()) / 1e9
    span_s = (last - first) / 1e9
    origin = int(records.ints["scheduled_ns"].min())
    return Steady(
        start_s=(first - origin) / 1e9,
        stop_s=(last - origin) / 1e9,
        in_flight=float(median),
        output_tokens_per_s=_tokens(records, first, last) / span_s if span_s > 0 else None,
        request_times=span_s / mean_s if mean_s > 0 else 0.0,
        short=span_s < SHORT * mean_s,
    )


def _levels(
    begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Moments of change and the number in flight from each on."""
    times = np.concatenate([begin, end])
    steps = np.concatenate([np.ones(len(begin), np.int64), -np.ones(len(end), np.int64)])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(steps[order])


def _weighted_median(values: NDArray[np.int64], weights: NDArray[np.int64]) -> float:
    """Median over time, not over changes; nothing in flight does not count."""
    busy = values > 0
    values, weights = values[busy], weights[busy]
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _tokens(records: Records, first: int, last: int) -> float:
    """Output tokens whose event came within the window."""
    events = np.diff(records.event_offsets)
    made = records.ints["output_tokens"].clip(min=0)
    share = np.divide(made, events, out=np.zeros(records.n), where=events > 0)
    weights = np.repeat(share, events)
    inside = (records.event_ns >= first) & (records.event_ns <= last)
    return float(weights[inside].sum())
