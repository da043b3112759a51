"""Sessions, features, skew and drift: what a trace says beside lengths and times."""

from __future__ import annotations

import numpy as np

from seatrial.core.units import NS_PER_MS, NS_PER_S
from seatrial.trace import RequestTable
from seatrial.trace.table import Ints
from seatrial.workload.lengths import distribution
from seatrial.workload.profile import Distribution, Drift, Sessions, Skew

SHOWN_CATEGORIES = 100


def sessions(table: RequestTable) -> Sessions | None:
    """Turns and gaps within sessions; None where the trace has no sessions."""
    if table.session is None:
        return None
    rows = np.flatnonzero(table.session >= 0)
    if len(rows) == 0:
        return None
    order = rows[np.argsort(table.session[rows], kind="stable")]
    grouped = table.session[order]
    sizes = np.unique(grouped, return_counts=True)[1]
    turns = distribution(sizes)
    assert turns is not None
    same = grouped[1:] == grouped[:-1]
    gap, think = _pauses(table, order, same)
    return Sessions(
        count=len(sizes), turns_mean=float(sizes.mean()), turns=turns, gap_s=gap, think_s=think
    )


def _pauses(
    table: RequestTable, order: Ints, same: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[Distribution | None, Distribution | None]:
    """(from arrival to arrival, from an answer's end to the next arrival), within sessions.

    A pause that the log itself names is taken as it is; the first request of a session has one
    too then (0 in the logs seen). Else it is the step less the time the answer took.
    """
    when = table.session_ns if table.arrival_ns is None else table.arrival_ns
    gap = think = None
    if when is not None:
        step = (when[order][1:] - when[order][:-1])[same]
        gap = distribution(step / NS_PER_S)
        if table.e2e_ns is not None:
            spent = table.e2e_ns[order][:-1][same]
            think = distribution(np.maximum(step - spent, 0)[spent >= 0] / NS_PER_S)
    if table.think_ns is not None:
        think = distribution(table.think_ns[table.think_ns >= 0] / NS_PER_S)
    return gap, think


def skew(codes: Ints, names: tuple[str, ...]) -> Skew | None:
    """Shares of categories; None if no request has one. Ties keep the order of appearance."""
    there = codes[codes >= 0]
    if len(there) == 0:
        return None
    number = np.bincount(there, minlength=len(names))
    order = np.argsort(-number, kind="stable")
    order = order[number[order] > 0]
    share = number[order] / number.sum()
    nats = float(-(share * np.log(share)).sum()) + 0.0
    return Skew(
        categories=len(order),
        top1_share=float(share[:1].sum()),
        top3_share=float(share[:3].sum()),
        top5_share=float(share[:5].sum()),
        entropy_bits=nats / float(np.log(2)),
        effective=float(np.exp(nats)),
        counts={names[i]: int(number[i]) for i in order[:SHOWN_CATEGORIES]},
    )


def milliseconds(column: Ints | None) -> Distribution | None:
    """Distribution in ms of a column in ns; None where nothing was logged."""
    return None if column is None else distribution(column[column >= 0] / NS_PER_MS)


def drift(table: RequestTable) -> Drift:
    """Second half of the requests (in order of arrival) over the first."""
    half = table.n // 2
    rate = None
    if table.arrival_ns is not None and half >= 2:
        first = int(table.arrival_ns[half] - table.arrival_ns[0])
        second = int(table.arrival_ns[-1] - table.arrival_ns[half])
        if first and second:
            rate = ((table.n - half) / second) / (half / first)
    return Drift(
        rate=rate,
        input_mean=_ratio(table.input_tokens, half),
        output_mean=_ratio(table.output_tokens, half),
    )


def _ratio(column: Ints | None, half: int) -> float | None:
    if column is None:
        return None
    first, second = column[:half], column[half:]
    first, second = first[first >= 0], second[second >= 0]
    if len(first) == 0 or len(second) == 0 or first.mean() == 0:
        return None
    return float(second.mean() / first.mean())
