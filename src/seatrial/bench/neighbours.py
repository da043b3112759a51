"""Foreign load on the host: when the engine computes on CPUs that others use, nothing was measured.

On a GPU a busy host mostly disturbs the client, which judges itself. An engine that runs on the
CPU shares it with whoever else is there: its latencies are then the neighbours' as much as its
own, and a decision on them would be one about the neighbours.
"""

from __future__ import annotations

from seatrial.telemetry import Telemetry

OTHERS_VOID = 0.35
"""Share of all CPU time used by neither engine nor client; above it a cell on CPUs is not valid."""


def reasons(telemetry: Telemetry, *, local: bool) -> list[str]:
    """Why the cell is not valid; empty when it is, or when the engine does not run on CPUs here."""
    share = telemetry.noise().others_share
    on_gpu = any(row.gpus for row in telemetry.rows)
    if not local or on_gpu or share is None or share <= OTHERS_VOID:
        return []
    return [
        f"other processes used {share:.0%} of this machine's CPU time (limit {OTHERS_VOID:.0%}), "
        "and the engine runs on the CPU"
    ]
