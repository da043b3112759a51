"""What bounds a load: descriptors and local ports beforehand, time while it runs.

A client that runs out of descriptors or ports blames the server. So both are checked beforehand,
the soft limit of descriptors is raised to what is needed, and what cannot be had is said with
numbers. And no load runs for ever: a server that streams without end, or never finishes, meets a
deadline for each request and an end of the run, both made from the plan and stated beforehand.
"""

from __future__ import annotations

import math
import resource
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seatrial.core.errors import PrerequisiteError
from seatrial.core.units import NS_PER_S, s_to_ns
from seatrial.loadgen.plan import Load

_SPARE = 64
_TIME_WAIT_S = 60.0
_STALLS = 2.0  # a deadline leaves room for this many silences as long as the stall timeout
_TOKEN_S = 1.0  # and for this much time an output token
_UNKNOWN_TOKENS = 2048  # of an answer whose limit nobody knows
_PREFILL_PER_S = 100.0  # input tokens a second that any server is granted to need
_SLACK = 3.0  # a run may take so many times what its requests take one after another
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def local_ports() -> int:
    """Local ports for outgoing connections to one address."""
    try:
        low, high = map(int, _PORTS.read_text("ascii").split())
    except (OSError, ValueError):
        return 16_384
    return high - low + 1


def check(load: Load, requests: int, *, fresh_per_s: float = 0.0) -> None:
    """Make room for the load, or say why there is none.

    Args:
        requests: at most so many are open at once in an open loop without a cap.
        fresh_per_s: connections opened per second; each blocks its port for a minute.

    Raises:
        PrerequisiteError: too few file descriptors or local ports.
    """
    most = load.users if load.mode == "closed" else (load.max_in_flight or min(requests, 1024))
    need = max(most, load.connections) + _SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < need:
        if hard != resource.RLIM_INFINITY and hard < need:
            raise PrerequisiteError(
                f"{need} open connections are needed and this process may have {hard} files",
                where="ulimit -Hn",
                unchanged="nothing was sent",
                remedy="raise the limit (ulimit -n) or lower the concurrency",
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (need, hard))
    ports = local_ports()
    wanted = most + (min(requests, fresh_per_s * _TIME_WAIT_S) if load.fresh else 0)
    if wanted > ports:
        raise PrerequisiteError(
            f"{wanted:.0f} local ports are needed and there are {ports}",
            where=str(_PORTS),
            unchanged="nothing was sent",
            remedy="reuse connections, lower the load, or widen net.ipv4.ip_local_port_range",
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long at most.

    Attributes:
        deadline_ns: of each request, from its scheduled time; then it counts as timed out.
        run_ns: of the whole run; then what is open counts as in flight, and what was not due
            yet is not offered.
    """

    deadline_ns: NDArray[np.int64]
    run_ns: int


def bounds(
    load: Load,
    scheduled_ns: NDArray[np.int64],
    input_tokens: NDArray[np.int64],
    output_tokens: NDArray[np.int64],
    *,
    turns: int = 1,
    timeout_s: float | None = None,
    single_s: float | None = None,
) -> Bounds:
    """The bounds of a plan.

    A request has twice the stall timeout and a second for each output token; with a cap on those
    in flight, that much for each round before it. A duration that was asked for stands. An open
    loop ends when the last deadline has passed. A closed loop has its rounds of deadlines, or,
    where the time of one request alone is known, three times what all requests would take one
    after another, if that is less.

    Args:
        turns: most turns of one session; each waits for the one before.
        timeout_s: of a request, instead of the above.
        single_s: time of one request alone (a short prompt); prefill is granted beside it.
    """
    n = len(scheduled_ns)
    stall_s = load.stall_ns / NS_PER_S
    tokens = np.where(output_tokens > 0, output_tokens, _UNKNOWN_TOKENS).astype(np.float64)
    each_s = np.full(n, timeout_s) if timeout_s else _STALLS * stall_s + _TOKEN_S * tokens
    if load.max_in_flight:
        each_s = each_s * math.ceil(max(1, n) / load.max_in_flight)
    longest = float(each_s.max()) if n else stall_s
    deadline = np.rint(each_s * NS_PER_S).astype(np.int64)
    if load.mode == "open":
        last_s = float(scheduled_ns.max()) / NS_PER_S if n else 0.0
        run_s = last_s + turns * longest + stall_s
    else:
        rounds = math.ceil(max(1, n) / max(1, load.users)) + turns - 1
        pauses = rounds * 5.0 * load.think_ns / NS_PER_S
        run_s = load.ramp_ns / NS_PER_S + rounds * longest + pauses + stall_s
        if single_s is not None:
            prefill_s = float(input_tokens.clip(min=0).sum()) / _PREFILL_PER_S
            serial_s = n * single_s + prefill_s
            run_s = min(run_s, longest + pauses + _SLACK * serial_s)
    return Bounds(deadline, load.duration_ns or s_to_ns(run_s))
