"""A cell: one start of one candidate under one load, and everything measured in it.

``cell.json`` is the last thing said about a cell; its folder appears whole or not at all, so
its presence means that requests.parquet, telemetry.parquet and engine.log beside it are whole.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.core.provenance import Provenance
from seatrial.stats.interval import Interval

SCHEMA = "seatrial/cell/1"


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """offered = completed + failed + cancelled + timed_out + cut + in_flight, always."""

    offered: int
    completed: int
    failed: int
    cancelled: int
    timed_out: int
    cut: int
    in_flight: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A latency's distribution over the completed requests, in ms; None where it has no values."""

    mean: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    n: int
    intervals: dict[str, Interval] = {}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something seen that a reader must know; ``level`` is info, warning, failure or invalid."""

    id: str
    level: str
    says: str
    evidence: str = ""


class ClientReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the client says of itself; percentiles in ms.

    Attributes:
        kernel_stamps: arrival times are the kernel's: the loop's lag is in no latency.
        receive_delay_ms: from the packet's arrival to the read; None values where the kernel
            gives no stamps.
        connect_ms: of the connections opened before and during the run.
        path_floor_ms: a null request (health route) on this path, before the run.
        run_queue_wait_s: ready to run and without a core; None where the system does not say.
    """

    cpu_s: float
    cpu_s_per_million_tokens: float | None
    lateness_ms: dict[str, float | None]
    loop_lag_ms: dict[str, float | None]
    cpu_share: float
    calibration: dict[str, Any] | None = None
    workers: int = 1
    kernel_stamps: bool = False
    receive_delay_ms: dict[str, float | None] = {}
    connect_ms: dict[str, float | None] = {}
    connections: int = 0
    in_flight_peak: int = 0
    run_queue_wait_s: float | None = None
    path_floor_ms: dict[str, float | None] = {}


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """cell.json; the keys of DESIGN's ``bench --json`` and where the cell stands in the trial."""

    schema: str
    candidate: str
    start: int
    valid: bool
    invalid_because: list[str]
    requests: Counts
    ttft_ms: Summary
    itl_ms: Summary
    tpot_ms: Summary
    e2e_ms: Summary
    output_tokens: int
    output_tokens_per_s: float | None
    duration_s: float
    goodput: float | None
    failure_rate: float | None
    resources: dict[str, float | int | None]
    effective: dict[str, Any]
    client: ClientReport
    findings: list[Finding]
    cold_start_s: dict[str, float | None]
    comparability: dict[str, Any]
    provenance: Provenance
    steady: dict[str, Any] | None = None  # the steady window, see bench.steady
    more: dict[str, Summary] = {}  # further metrics by name, see loadgen.metrics
    by_length: list[dict[str, Any]] = []  # TTFT and E2E by quarter of input and output length
    fluidity: float | None = None  # mean over requests, where the SLO has both targets
    assumptions: list[str] = []
    input_tokens_estimated: bool = False  # prompts of about so many tokens: the server miscounts
    bounds: dict[str, float] = {}  # request_s and run_s: how long at most, see loadgen.limits
    files: dict[str, str] = {}  # name -> sha256 of the files beside cell.json
