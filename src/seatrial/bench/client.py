"""Whether the client can be believed: its account of itself against stated limits.

A cell in which the client was the bottleneck is invalid, with the reason. Limits are absolute
where a clock is late (a late client reads late times) and relative to what was measured where a
share matters. They are the same for every engine.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from seatrial.bench.cell import ClientReport, Finding
from seatrial.loadgen.metrics import Itl, Ttft, output_tokens
from seatrial.loadgen.records import Ints, Records
from seatrial.loadgen.run import Client


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Beyond these the client was the bottleneck.

    Attributes:
        lateness_ms, lateness_share: p99 lateness may be that many ms, or that share of the median
            TTFT if that is more.
        lag_ms, lag_share: the same for the loop's p99 lag.
        cpu_share: of one core, of the busiest worker.
        starved_share: of the run, waiting for a core.
    """

    lateness_ms: float = 5.0
    lateness_share: float = 0.02
    lag_ms: float = 10.0
    lag_share: float = 0.03
    cpu_share: float = 0.9
    starved_share: float = 0.25


def _p(values: Any, q: float) -> float | None:
    return float(np.percentile(values, q)) if len(values) else None


def _quantiles_ms(values_ns: list[int] | Ints) -> dict[str, float | None]:
    values = np.asarray(values_ns, np.float64) / 1e6
    numbers = {name: _p(values, q) for name, q in (("p50", 50.0), ("p99", 99.0))}
    return {**numbers, "max": float(values.max()) if len(values) else None}


def report(
    client: Client, records: Records, calibration: dict[str, Any] | None = None
) -> ClientReport:
    """The client's part of a cell."""
    tokens = output_tokens(records)
    return ClientReport(
        cpu_s=client.cpu_s,
        cpu_s_per_million_tokens=client.cpu_s / tokens * 1e6 if tokens else None,
        lateness_ms=_quantiles_ms(client.lateness_ns),
        loop_lag_ms=_quantiles_ms(client.lags_ns),
        cpu_share=client.cpu_share,
        calibration=calibration,
        workers=client.workers,
        kernel_stamps=client.kernel_stamps,
        receive_delay_ms=_quantiles_ms(client.receive_delays_ns if client.kernel_stamps else []),
        connect_ms=_quantiles_ms(client.connect_ns),
        connections=client.opened,
        in_flight_peak=in_flight_peak(records),
        run_queue_wait_s=client.run_queue_wait_s,
    )


def in_flight_peak(records: Records) -> int:
    """Most requests open at once, from the records themselves."""
    sent = records.ints["sent_ns"] >= 0
    if not sent.any():
        return 0
    times = np.concatenate([records.ints["sent_ns"][sent], records.ints["done_ns"][sent]])
    steps = np.repeat([1, -1], int(sent.sum()))
    order = np.lexsort((steps, times))
    return int(np.cumsum(steps[order]).max())


def invalid_because(
    client: Client, records: Records, *, limits: Limits | None = None, capped: bool = False
) -> list[str]:
    """Reasons why the client cannot be believed; empty when it can.

    Args:
        capped: a cap on requests in flight was asked for: waiting for it is late by intent.
    """
    limits = limits or Limits()
    ttft = Ttft.values(records)
    typical = float(np.median(ttft)) if len(ttft) else 0.0
    reasons = []
    late = _p(np.asarray(client.lateness_ns) / 1e6, 99.0)
    allowed = max(limits.lateness_ms, limits.lateness_share * typical)
    if late is not None and late > allowed and not capped:
        reasons.append(f"requests left {late:.1f} ms late (p99; limit {allowed:.1f} ms)")
    lag = _p(np.asarray(client.lags_ns) / 1e6, 99.0)
    allowed = max(limits.lag_ms, limits.lag_share * typical)
    # With the kernel's stamps a late loop spoils no latency; lateness shows what it delays.
    if lag is not None and lag > allowed and not client.kernel_stamps:
        reasons.append(f"the client's event loop was {lag:.1f} ms late (p99; limit {allowed:.1f})")
    if client.cpu_share > limits.cpu_share:
        reasons.append(f"a client process used {client.cpu_share:.0%} of a core")
    if client.run_queue_wait_s is not None and client.wall_s > 0:
        starved = client.run_queue_wait_s / client.wall_s / max(1, client.workers)
        if starved > limits.starved_share and not client.kernel_stamps:
            reasons.append(f"the client waited for a core during {starved:.0%} of the run")
    return reasons


def stream_findings(records: Records) -> list[Finding]:
    """What the shape of the streams forbids to say."""
    done = records.completed
    events = np.diff(records.event_offsets)[done].sum()
    tokens = output_tokens(records)
    found = []
    if tokens and events < 0.5 * tokens:
        found.append(
            Finding(
                id="itl-unusable",
                level="warning",
                says="events are far fewer than tokens: gaps between events are the server's "
                "buffering, not its speed; ITL is not given, TPOT and E2E are",
                evidence=f"{events} events for {tokens} tokens",
            )
        )
    elif tokens and events < 0.95 * tokens:
        found.append(
            Finding(
                id="several-tokens-an-event",
                level="info",
                says="some events carry several tokens; ITL is per event",
                evidence=f"{events} events for {tokens} tokens",
            )
        )
    stalls = Itl.of_each(records)
    stalled = int((stalls > 1000.0).sum())
    if stalled:
        found.append(
            Finding(
                id="stalls",
                level="warning",
                says=f"{stalled} answers stood still for more than a second in the middle",
                evidence=f"longest {np.nanmax(stalls):.0f} ms",
            )
        )
    return found
