"""Foreign load on the host: when the engine computes on CPUs that others use, nothing was measured.

On a GPU a busy host mostly disturbs the client, which judges itself. An engine that runs on the
CPU shares it with whoever else is there: its latencies are then the neighbours' as much as its
own, and a decision on them would be one about the neighbours.
"""

from __future__ import annotations

import msgspec

from seatrial.bench.cell import Finding
from seatrial.bench.listener import Listener
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


def findings(telemetry: Telemetry, listener: Listener) -> list[Finding]:
    """Noise on the host; and where the engine cannot be told from its neighbours, that."""
    shares = telemetry.noise()
    noise = telemetry.findings()
    if not listener.unknown_because:
        return [Finding(id="host-noise", level="warning", says=text) for text in noise]
    steal = msgspec.structs.replace(shares, others_share=None).suspect()
    kept = [text for text in noise if text in steal or text not in shares.suspect()]
    used = "" if shares.others_share is None else f"all but the client: {shares.others_share:.0%}"
    return [
        Finding(
            id="engine-process-unknown",
            level="warning",
            says="the server runs on this machine, and which processes are its own cannot be told:"
            f" {listener.unknown_because}; its memory and CPU time are not given, and whether"
            " others used the CPU meanwhile is not judged",
            evidence=used,
        ),
        *(Finding(id="host-noise", level="warning", says=text) for text in kept),
    ]


def resources(telemetry: Telemetry, listener: Listener) -> dict[str, float | int | None]:
    """The cell's resources; the others' share is None where it would contain the engine's."""
    found = telemetry.resources()
    return {**found, "host_others_share": None} if listener.unknown_because else found
