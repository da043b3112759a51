"""What a simulation is fed with: arrivals and lengths, as columns.

``output`` is what each request will produce; only the simulator's loop knows it, no policy does.
``cached`` prompt tokens are found in a prefix cache and not computed again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seatrial.core.errors import UsageError
from seatrial.core.seeds import stream
from seatrial.core.units import NS_PER_S
from seatrial.trace.table import RequestTable

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Load:
    """n requests in order of arrival; ``arrival`` in seconds, lengths in tokens (at least 1)."""

    arrival: Floats
    input: Ints
    output: Ints
    cached: Ints

    @property
    def n(self) -> int:
        """Number of requests."""
        return int(self.arrival.size)

    def scaled(self, factor: float) -> Load:
        """The same requests arriving ``factor`` times as densely."""
        return Load(self.arrival / factor, self.input, self.output, self.cached)

    def part(self, chosen: slice) -> Load:
        """Some of the requests, arrivals as they are."""
        return Load(
            self.arrival[chosen], self.input[chosen], self.output[chosen], self.cached[chosen]
        )


def make_load(arrival: Floats, input: Ints, output: Ints, cached: Ints | None = None) -> Load:
    """A load from columns; refuses what no engine could serve.

    Raises:
        UsageError: arrivals that go backwards, lengths below 1, more cached than input.
    """
    arrival = np.ascontiguousarray(arrival, dtype=np.float64)
    input = np.ascontiguousarray(input, dtype=np.int64)
    output = np.ascontiguousarray(output, dtype=np.int64)
    cached = np.zeros_like(input) if cached is None else np.ascontiguousarray(cached, np.int64)
    sane = arrival.size == input.size == output.size == cached.size
    if sane and arrival.size:
        sane = bool((np.diff(arrival) >= 0).all() and arrival[0] >= 0)
        sane = sane and bool((input > 0).all() and (output > 0).all())
        sane = sane and bool(((cached >= 0) & (cached < input)).all())
    if not sane:
        raise UsageError(
            "these requests cannot be simulated: arrivals must not go backwards, every request "
            "needs at least one input and one output token, and one token that is not cached",
            remedy="take a trace with arrival times and lengths (seatrial profile shows them)",
        )
    return Load(arrival, input, output, cached)


def from_table(table: RequestTable, *, cached: Ints | None = None) -> Load:
    """The load of a trace.

    Raises:
        UsageError: the trace carries no arrival times or no lengths.
    """
    if table.arrival_ns is None or table.input_tokens is None or table.output_tokens is None:
        raise UsageError(
            "a simulation needs arrival times and input and output lengths; this trace lacks "
            + ", ".join(table.missing or ("some of them",)),
            remedy="take a trace that has them, or describe the traffic (traffic.synthetic)",
        )
    return make_load(
        table.arrival_ns / NS_PER_S,
        np.maximum(table.input_tokens, 1),
        np.maximum(table.output_tokens, 1),
        cached,
    )


def poisson(n: int, rate_per_s: float, input_mean: float, output_mean: float, *, seed: int) -> Load:
    """A synthetic load: Poisson arrivals, geometric lengths with the given means."""
    rng = stream(seed, "sim-load")
    return make_load(
        np.cumsum(rng.exponential(1.0 / rate_per_s, n)),
        rng.geometric(1.0 / input_mean, n),
        rng.geometric(1.0 / output_mean, n),
    )
