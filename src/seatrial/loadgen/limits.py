"""What the operating system must allow before a load is tried: descriptors and local ports.

A client that runs out of either blames the server. So both are checked beforehand, the soft limit
of descriptors is raised to what is needed, and what cannot be had is said with numbers.
"""

from __future__ import annotations

import resource
from pathlib import Path

from seatrial.core.errors import PrerequisiteError
from seatrial.loadgen.plan import Load

_SPARE = 64
_TIME_WAIT_S = 60.0
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
