"""Requests out of ServeGen's client statistics: one renewal process per client and window.

Gaps are Gamma or Weibull with the window's rate and CV, as the data says (Exponential where it
names no family); lengths are drawn from the client's distributions of that time, each field by
itself, because only the marginals are published. Paper: arXiv 2505.09999.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from seatrial.core.errors import UsageError
from seatrial.core.seeds import stream
from seatrial.core.units import NS_PER_S
from seatrial.trace import RequestTable
from seatrial.trace.servegen import Client, Clients, Floats, Pmf
from seatrial.trace.table import Ints
from seatrial.workload.clients import DATA_WINDOW_S, WINDOW_S

MOST = 20_000_000
_INPUTS = ("input_tokens", "text_tokens")


def from_clients(
    data: Clients, *, seed: int, minutes: float, start_s: float = 0.0, rate_factor: float = 1.0
) -> RequestTable:
    """Requests of all clients from ``start_s`` on, for ``minutes``.

    Clients without length data take the lengths of all others of that time together.

    Raises:
        UsageError: no request falls into that time, or more than 20 million would.
    """
    end_s = start_s + minutes * 60
    expected = sum(_expected(c, start_s, end_s) for c in data.clients.values()) * rate_factor
    if not 0 < expected <= MOST:
        raise UsageError(
            f"about {expected:.0f} requests fall into that time; from 1 to {MOST} can be made",
            remedy="take other minutes, or scale the rate",
        )
    times, owners = [], []
    for number, client in data.clients.items():
        random = stream(seed, "servegen", "arrivals", number)
        own = _arrivals(client, start_s, end_s, rate_factor, random)
        times.append(own)
        owners.append(np.full(len(own), number, dtype=np.int64))
    clock, owner = np.concatenate(times), np.concatenate(owners)
    order = np.argsort(clock, kind="stable")
    clock, owner = clock[order], owner[order]
    if len(clock) == 0:
        raise UsageError("no request falls into that time", remedy="take more minutes")
    numbers, codes = np.unique(owner, return_inverse=True)
    inputs, outputs = _lengths(data, clock, owner, stream(seed, "servegen", "lengths"))
    arrival = np.rint((clock - clock[0]) * NS_PER_S).astype(np.int64)
    return RequestTable(
        format="servegen",
        n=len(clock),
        arrival_ns=arrival,
        grain_ns=1,
        input_tokens=inputs,
        output_tokens=outputs,
        label={"client": codes.reshape(-1).astype(np.int64)},
        labels={"client": tuple(f"client-{number}" for number in numbers.tolist())},
        missing=("sessions", "prefix blocks", "TTFT", "latency", "outcomes"),
        notes=("made from client statistics; input and output lengths are drawn independently",),
    )


def _expected(client: Client, start_s: float, end_s: float) -> float:
    low = np.maximum(client.start_s, start_s)
    high = np.minimum(client.start_s + WINDOW_S, end_s)
    return float(np.dot(np.maximum(high - low, 0), client.rate))


def _arrivals(
    client: Client, start_s: float, end_s: float, factor: float, random: Generator
) -> Floats:
    parts = [np.empty(0)]
    for k in range(len(client.rate)):
        low, high = max(client.start_s[k], start_s), min(client.start_s[k] + WINDOW_S, end_s)
        rate = float(client.rate[k]) * factor
        if high <= low or rate <= 0:
            continue
        parts.append(_renewal(float(low), float(high), rate, float(client.cv[k]),
                              client.family[k], random))  # fmt: skip
    return np.concatenate(parts)


def _renewal(
    low: float, high: float, rate: float, cv: float, family: str, random: Generator
) -> Floats:
    """A renewal process in [low, high), begun a while before so that it is in swing."""
    wanted = (high - low) * rate
    size = int(2 * wanted + 10 * max(1.0, cv) * math.sqrt(wanted + 1) + 20)
    if cv <= 0 or family not in ("Gamma", "Weibull"):
        gaps = random.exponential(1 / rate, size)
    elif family == "Gamma":
        gaps = random.gamma(1 / cv**2, cv**2 / rate, size)
    else:
        shape = weibull_shape(cv)
        gaps = random.weibull(shape, size) / (rate * math.gamma(1 + 1 / shape))
    clock = (
        low - float(random.random()) * min(high - low, 5 * max(1.0, cv) / rate) + np.cumsum(gaps)
    )
    return clock[(clock >= low) & (clock < high)]


def weibull_shape(cv: float) -> float:
    """Shape of the Weibull distribution with this CV, by bisection.

    CV^2 = Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1 falls with k.
    """
    low, high = 0.1, 50.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        squared = math.exp(math.lgamma(1 + 2 / middle) - 2 * math.lgamma(1 + 1 / middle)) - 1
        low, high = (middle, high) if squared > cv * cv else (low, middle)
    return math.sqrt(low * high)


def _lengths(data: Clients, clock: Floats, owner: Ints, random: Generator) -> tuple[Ints, Ints]:
    window = (clock // DATA_WINDOW_S * DATA_WINDOW_S).astype(np.int64)
    pooled: dict[tuple[int, bool], Pmf] = {}
    inputs = np.full(len(clock), -1, dtype=np.int64)
    outputs = np.full(len(clock), -1, dtype=np.int64)
    keys = np.column_stack((owner, window))
    groups, place = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(place.reshape(-1), kind="stable")
    bounds = np.searchsorted(place.reshape(-1)[order], np.arange(len(groups) + 1))
    for g, (number, start) in enumerate(groups.tolist()):
        rows = order[bounds[g] : bounds[g + 1]]
        for column, is_input in ((inputs, True), (outputs, False)):
            found = _pmf(data.clients[number].lengths.get(start), is_input)
            if found is None:
                key = (start, is_input)
                if key not in pooled:
                    pooled[key] = _pool(data, start, is_input)
                found = pooled[key]
            column[rows] = _draw(found, len(rows), random)
    return inputs, outputs


def _pmf(fields: dict[str, Pmf] | None, is_input: bool) -> Pmf | None:
    names = _INPUTS if is_input else ("output_tokens",)
    found = next((fields[n] for n in names if n in fields), None) if fields else None
    return found if found is not None and found.shares.sum() > 0 else None


def _pool(data: Clients, start: int, is_input: bool) -> Pmf:
    found = [_pmf(c.lengths.get(start), is_input) for c in data.clients.values()]
    there = [pmf for pmf in found if pmf is not None]
    if not there:
        there = [
            pmf
            for client in data.clients.values()
            for fields in client.lengths.values()
            if (pmf := _pmf(fields, is_input)) is not None
        ]
    if not there:
        raise UsageError(
            "no client has length data", remedy="give the folder with chunk-N-dataset.json too"
        )
    return Pmf(
        np.concatenate([pmf.values for pmf in there]),
        np.concatenate([pmf.shares for pmf in there]),
    )


def _draw(pmf: Pmf, n: int, random: Generator) -> Ints:
    ends = np.cumsum(pmf.shares)
    at = np.searchsorted(ends, random.random(n) * ends[-1], side="right")
    values = pmf.values[np.minimum(at, len(ends) - 1)]
    return np.asarray(np.maximum(0, np.rint(values)), dtype=np.int64)
