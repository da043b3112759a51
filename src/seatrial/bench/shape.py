"""Load described on the command line: so many requests of such a length, at a rate or in a loop.

The result is the same table of requests that a trace gives, so that everything after it is one
path.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from seatrial.core.errors import UsageError
from seatrial.core.units import NS_PER_S, s_to_ns
from seatrial.loadgen import schedule
from seatrial.loadgen.plan import Load
from seatrial.trace.table import RequestTable
from seatrial.workload.spec import Lengths
from seatrial.workload.synthetic import draw

ARRIVALS = ("poisson", "constant", "gamma", "on-off", "ramp")
_RAMP_NS = NS_PER_S


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for.

    Attributes:
        rate_per_s: open loop; ``concurrency``: closed loop. Exactly one of them.
        requests, duration_s: how long; at least one. Arrivals stop at ``duration_s``.
        cv: of the gaps, for ``gamma``; on_s and off_s: for ``on-off``; end_rate: for ``ramp``.
        think_s: mean pause of a closed-loop user.
    """

    rate_per_s: float | None = None
    concurrency: int | None = None
    requests: int | None = None
    duration_s: float | None = None
    input_tokens: int | Lengths = 256
    output_tokens: int | Lengths = 128
    arrivals: str = "poisson"
    cv: float = 2.0
    on_s: float = 5.0
    off_s: float = 5.0
    end_rate_per_s: float | None = None
    think_s: float = 0.0
    max_in_flight: int = 0
    stall_s: float = 60.0
    fresh: bool = False


def check(shape: Shape) -> None:
    """Refuse what contradicts itself.

    Raises:
        UsageError: says which two.
    """
    if (shape.rate_per_s is None) == (shape.concurrency is None):
        raise UsageError(
            "a load is either a rate or a concurrency",
            where="--rate, --concurrency",
            remedy="give exactly one of them (or --trace)",
        )
    if shape.requests is None and shape.duration_s is None:
        raise UsageError(
            "nothing says when to end", where="bench", remedy="give --requests or --duration"
        )
    numbers = (shape.rate_per_s, shape.concurrency, shape.requests, shape.duration_s)
    if any(n is not None and not (n > 0 and math.isfinite(n)) for n in numbers):
        raise UsageError("a number is not positive", where="bench", remedy="give positive numbers")
    if shape.arrivals not in ARRIVALS:
        raise UsageError(
            f"no such arrivals: {shape.arrivals}",
            where="--arrivals",
            remedy=f"one of {', '.join(ARRIVALS)}",
        )


def table_of(shape: Shape, seed: int, *, single_e2e_s: float = 1.0) -> RequestTable:
    """The requests of a shape.

    Args:
        single_e2e_s: time of one request alone; a closed loop of a given duration can finish at
            most concurrency * duration / single_e2e_s of them.
    """
    check(shape)
    arrivals = None
    if shape.rate_per_s is not None:
        arrivals = _arrivals(shape, shape.rate_per_s, seed)
        n = len(arrivals)
    else:
        n = _closed_count(shape, single_e2e_s)
    return RequestTable(
        format="shape",
        n=n,
        arrival_ns=arrivals,
        grain_ns=1,
        input_tokens=draw(shape.input_tokens, n, seed, "input"),
        output_tokens=draw(shape.output_tokens, n, seed, "output"),
    )


def _arrivals(shape: Shape, rate: float, seed: int) -> np.ndarray:
    count = shape.requests
    if count is None:
        assert shape.duration_s is not None
        mean = max(rate, shape.end_rate_per_s or 0.0) * shape.duration_s
        count = math.ceil(mean + 6 * math.sqrt(mean) + 10)
    if shape.arrivals == "constant":
        times = schedule.constant(rate, count)
    elif shape.arrivals == "gamma":
        times = schedule.gamma(rate, count, seed, cv=shape.cv)
    elif shape.arrivals == "on-off":
        times = schedule.on_off(rate, count, seed, on_s=shape.on_s, off_s=shape.off_s)
    elif shape.arrivals == "ramp":
        times = schedule.ramp(rate, shape.end_rate_per_s or rate, count, seed)
    else:
        times = schedule.poisson(rate, count, seed)
    if shape.duration_s is not None:
        times = times[times < s_to_ns(shape.duration_s)]
    return times


def _closed_count(shape: Shape, single_e2e_s: float) -> int:
    if shape.requests is not None:
        return shape.requests
    assert shape.concurrency is not None
    assert shape.duration_s is not None
    each = max(1e-3, single_e2e_s + shape.think_s)
    rounds = math.ceil(1.2 * shape.duration_s / each) + 1
    return min(1_000_000, shape.concurrency * rounds)


def load_of(shape: Shape, table: RequestTable) -> Load:
    """How the requests of a shape are released."""
    stall_ns = s_to_ns(shape.stall_s)
    if shape.concurrency is None:
        return Load(
            mode="open",
            connections=min(table.n, 64),
            max_in_flight=shape.max_in_flight,
            stall_ns=stall_ns,
            fresh=shape.fresh,
        )
    users = min(shape.concurrency, max(1, table.n))
    return Load(
        mode="closed",
        users=users,
        connections=0 if shape.fresh else users,
        think_ns=s_to_ns(shape.think_s),
        ramp_ns=min(_RAMP_NS, users * 20_000_000),
        duration_ns=0 if shape.duration_s is None else s_to_ns(shape.duration_s),
        stall_ns=stall_ns,
        fresh=shape.fresh,
    )
