"""A synthetic trace like a real one: for replays longer, faster or more public than the original.

Requests (whole sessions where there are any) are drawn from the source with replacement and kept in
its order, so joint lengths and drift stay. Where the source has prefix blocks they are taken one
after another from a random place on instead, around and around, so that the locality of reuse
stays too. Blocks that only one session (or request) of the source has get fresh ids in every copy,
so a copy is no accidental repetition; blocks that several share keep theirs, so the prefix tree
stays. Arrivals come from one of four models fitted to the source:

    poisson  constant rate
    gamma    gaps from a Gamma distribution with the source's CV
    onoff    two rates, each held for the mean time the source held it (split at the mean of
             10 s counts)
    profile  rate of each minute as in the source, in blocks of 5 minutes drawn at random, Poisson
             within

``auto`` takes the one whose dispersions at 1, 10 and 60 s come nearest to the source's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.random import Generator

from seatrial.core.errors import UsageError
from seatrial.core.seeds import stream
from seatrial.core.units import NS_PER_S
from seatrial.trace import Blocks, RequestTable
from seatrial.trace.closing import turns_of
from seatrial.trace.table import Ints
from seatrial.workload import transform
from seatrial.workload.arrivals import arrivals, counts, dense
from seatrial.workload.lengths import Floats

Model = Literal["poisson", "gamma", "onoff", "profile"]
MOST = 20_000_000
_BLOCK_MINUTES = 5


@dataclass(frozen=True, slots=True)
class Made:
    """A synthetic table, the arrival model it used, and how far each model came (``auto``)."""

    table: RequestTable
    model: str | None
    scores: dict[str, float]


def synthesise(
    source: RequestTable,
    *,
    seed: int,
    minutes: float | None = None,
    rate_factor: float = 1.0,
    users_factor: float = 1.0,
    model: Model | Literal["auto"] = "auto",
) -> Made:
    """A trace like ``source``.

    Args:
        minutes: length; None: as long as the source.
        rate_factor: everything that much faster. users_factor: that many times the sessions (or
            requests) in the same time, each as fast as before.

    Raises:
        UsageError: nothing to learn from, or more than 20 million requests asked for.
    """
    if source.n < 2:
        raise UsageError("a trace of one request cannot be imitated", remedy="take a longer one")
    span_s = _span_s(source)
    wanted = span_s if minutes is None else minutes * 60
    number = source.n * users_factor * (wanted / span_s if source.arrival_ns is not None else 1.0)
    if not 1 <= number <= MOST:
        raise UsageError(
            f"{number:.0f} requests were asked for; from 1 to {MOST} can be made",
            remedy="change the minutes or the factor",
        )
    rows, copy = _draw(source, round(number), stream(seed, "synth", "rows"))
    table = _copied(source, rows, copy)
    if source.arrival_ns is None:
        return Made(table, None, {})
    starts, offsets = _starts(source, rows)
    scores: dict[str, float] = {}
    chosen: Model
    if model == "auto":
        for name in get_args(Model):
            times = _times(starts, name, wanted, int(copy.max()) + 1, seed)
            scores[name] = _distance(starts, times, users_factor)
        chosen = min(get_args(Model), key=scores.__getitem__)
    else:
        chosen = model
    times = _times(starts, chosen, wanted, int(copy.max()) + 1, seed)[copy] + offsets
    order = np.argsort(times, kind="stable").astype(np.int64)
    table = transform.take(replace(table, arrival_ns=times, grain_ns=1), order)
    return Made(transform.rate(table, rate_factor), chosen, scores)


def _starts(source: RequestTable, rows: Ints) -> tuple[Ints, Ints]:
    """(arrivals of the source's sessions, or requests; each row's time from its session's start).

    Pauses between turns are the client's, so they stay as they were.
    """
    assert source.arrival_ns is not None
    if source.session is None:
        return source.arrival_ns, np.zeros(len(rows), dtype=np.int64)
    owner = _owner(source)
    first = np.full(int(owner.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, owner, source.arrival_ns)
    return np.sort(first) - int(first.min()), source.arrival_ns[rows] - first[owner[rows]]


def _span_s(source: RequestTable) -> float:
    if source.arrival_ns is None or source.arrival_ns[-1] == 0:
        return 1.0
    return float(source.arrival_ns[-1]) / NS_PER_S


def _draw(source: RequestTable, n: int, random: Generator) -> tuple[Ints, Ints]:
    """(rows of the source, copy by copy; number of the copy each belongs to)."""
    owner = _owner(source)
    sizes = np.bincount(owner)
    if source.blocks is None:
        mean = source.n / len(sizes)
        chosen = np.sort(random.integers(0, len(sizes), max(1, round(n / mean))))
    else:
        turned = np.roll(np.arange(len(sizes)), -int(random.integers(0, len(sizes))))
        reached = np.cumsum(np.tile(sizes[turned], -(-n // source.n)))
        chosen = np.resize(turned, int(np.searchsorted(reached, n)) + 1)
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    length = sizes[chosen]
    copy = np.repeat(np.arange(len(chosen)), length)
    inside = np.arange(len(copy)) - np.repeat(np.cumsum(length) - length, length)
    rows = order[np.repeat(starts[chosen], length) + inside]
    place = (
        np.lexsort((copy, rows)) if source.session is not None else np.argsort(rows, kind="stable")
    )
    return rows[place], copy[place]


def _owner(source: RequestTable) -> Ints:
    """Number of the session of each row, or of the row itself, in order of first appearance."""
    if source.session is None:
        return np.arange(source.n, dtype=np.int64)
    alone = source.session < 0
    key = np.where(alone, source.session.max() + 1 + np.arange(source.n), source.session)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def _copied(source: RequestTable, rows: Ints, copy: Ints) -> RequestTable:
    table = transform.take(source, rows)
    session = turn = None
    if source.session is not None:
        session = copy.astype(np.int64)
        turn = turns_of(session)
    blocks = None
    if source.blocks is not None and table.blocks is not None:
        blocks = _fresh(source, source.blocks, table.blocks, copy)
    return replace(
        table,
        format="synthetic",
        session=session,
        turn=turn,
        blocks=blocks,
        ttft_ns=None,
        e2e_ns=None,
        think_ns=None,
        files=(),
        bad_rows=(),
        notes=(f"made from {source.n} requests of a {source.format} trace",),
    )


def _fresh(source: RequestTable, before: Blocks, after: Blocks, copy: Ints) -> Blocks:
    """Blocks of one owner get an id per copy; blocks of several owners keep theirs."""
    owner = np.repeat(_owner(source), np.diff(before.offsets))
    values, ids = np.unique(before.hashes, return_inverse=True)
    ids = ids.reshape(-1)
    first = np.full(len(values), -1, dtype=np.int64)
    first[ids] = owner
    several = np.zeros(len(values), dtype=np.bool_)
    several[ids[first[ids] != owner]] = True
    place = np.searchsorted(values, after.hashes)
    copies = np.repeat(copy, np.diff(after.offsets))
    count = int(copy.max(initial=0)) + 2
    fresh = place * count + np.where(several[place], 0, copies + 1)
    return Blocks(after.offsets, fresh.astype(np.int64), after.block_tokens)


def _times(source_ns: Ints, model: str, wanted_s: float, n: int, seed: int) -> Ints:
    """``n`` ascending arrivals over ``wanted_s`` seconds, in ns, the first 0."""
    random = stream(seed, "synth", "arrivals", model)
    if model == "gamma":
        cv = _cv(source_ns)
        gaps = random.gamma(1 / cv**2, cv**2, n) if cv > 0.01 else np.ones(n)
        clock = np.cumsum(gaps)
    else:
        edges, rates = _rates(source_ns, model, wanted_s, random)
        mass = np.concatenate(([0.0], np.cumsum(rates * np.diff(edges))))
        clock = np.interp(np.sort(random.random(n)) * mass[-1], mass, edges)
    clock = (clock - clock[0]) / ((clock[-1] - clock[0]) or 1.0)
    return np.asarray(np.rint(clock * wanted_s * NS_PER_S), dtype=np.int64)


def _cv(arrival_ns: Ints) -> float:
    gaps = np.diff(arrival_ns)
    return float(gaps.std() / gaps.mean()) if gaps.mean() else 1.0


def _rates(
    arrival_ns: Ints, model: str, wanted_s: float, random: Generator
) -> tuple[Floats, Floats]:
    """Edges in s and the rate between them."""
    if model == "poisson":
        return np.array([0.0, wanted_s]), np.ones(1)
    width = 60 if model == "profile" else 10
    sparse, bins = counts(arrival_ns, width)
    held = np.array(dense(sparse, bins)[: max(1, bins - 1)], dtype=np.float64)
    steps = max(1, math.ceil(wanted_s / width))
    if model == "profile":
        starts = random.integers(0, len(held), steps // _BLOCK_MINUTES + 1)
        rates = held[(starts[:, None] + np.arange(_BLOCK_MINUTES)).reshape(-1) % len(held)][:steps]
    else:
        rates = _two_rates(held, steps, random)
    edges = np.minimum(np.arange(steps + 1) * width, wanted_s).astype(np.float64)
    return edges, np.maximum(rates, 1e-9 * max(1.0, float(rates.max(initial=1.0))))


def _two_rates(held: Floats, steps: int, random: Generator) -> Floats:
    """A two-state chain with the source's mean rates and mean stays."""
    high = held > held.mean()
    if high.all() or not high.any():
        return np.full(steps, float(held.mean()) or 1.0)
    switches = max(1, int(np.count_nonzero(high[1:] != high[:-1])))
    stay = {True: high.sum() * 2 / switches, False: (~high).sum() * 2 / switches}
    rate = {True: float(held[high].mean()), False: float(held[~high].mean())}
    state = bool(random.random() < high.mean())
    out = np.empty(steps)
    done = 0
    while done < steps:
        length = int(random.geometric(min(1.0, 1 / max(1.0, float(stay[state])))))
        out[done : done + length] = rate[state]
        done, state = done + length, not state
    return out


def _distance(source_ns: Ints, times: Ints, users: float) -> float:
    """Sum over 1, 10 and 60 s of |ln(dispersion / wanted)|.

    Wanted is the source's; with u times the users the excess over 1 grows u-fold, because the
    rate's ups and downs are taken to be shared by all of them (a time of day, a deadline).
    """
    a, b = arrivals(source_ns, 1), arrivals(times, 1)
    if a is None or b is None:
        return 0.0
    total = 0.0
    for scale in ("1s", "10s", "60s"):
        x, y = a.dispersion_full_bins.get(scale), b.dispersion_full_bins.get(scale)
        if x and y:
            wanted = 1 + (x - 1) * users if x > 1 else x
            total += abs(math.log(y / wanted))
    return total
